# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion of `ringfence` for bash. Commands and options come from --help, so
# they cannot be out of date; volumes from the daemon, devices from /dev.

_ringfence_commands() {
	ringfence --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}

_ringfence_options() {
	ringfence ${1:+"$1"} --help 2>/dev/null | grep -oE '^  --[a-z-]+' | tr -d ' '
}

_ringfence_volumes() {
	ringfence --json status 2>/dev/null | sed -n 's/.*"volume": "\(.*\)",/\1/p'
}

# The command on the line, past the global options in front of it.
_ringfence_command() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--socket | --color) i=$((i + 1)) ;;
		-*) ;;
		*)
			echo "${COMP_WORDS[i]}"
			return
			;;
		esac
	done
}

_ringfence_value() {
	case $1 in
	--record) echo superblock slots mailbox claims state history all ;;
	--reserve) echo start end whole ;;
	--profile) echo fast san multipath ;;
	--quorum) echo majority survivors ;;
	--kind) echo data quorum stat shut ;;
	--color) echo auto always never ;;
	*) return 1 ;;
	esac
}

_ringfence() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command words
	command=$(_ringfence_command)
	if words=$(_ringfence_value "$prev"); then
		:
	elif [[ $cur == -* ]]; then
		words=$(_ringfence_options "$command")
	elif [ -z "$command" ]; then
		words=$(_ringfence_commands)
	else
		case $command in
		format | probe | dump | verify | slots | timing | keygen)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		*) words=$(_ringfence_volumes) ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o filenames -F _ringfence ringfence
