# SPDX-License-Identifier: GPL-2.0-or-later

.PHONY: demo

demo: all
	@tools/demo/demo
