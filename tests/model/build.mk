# SPDX-License-Identifier: GPL-2.0-or-later
# The Promela model. `make check-model` is exhaustive for two nodes.

CHECK_LEVELS += check-model

.PHONY: check-model model-full

check-model:
	@tests/model/run quick

model-full:
	@tests/model/run full
