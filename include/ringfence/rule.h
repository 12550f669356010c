/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules that can be removed one at a time, in test builds only.
 *
 * RF_RULE(NAME, condition) is the condition. In a mutant build, made with
 * -DRF_MUTANT=RF_MUTANT_NAME, the one rule of that name is gone: its condition
 * never holds. The simulator must then find a broken oracle; a rule whose
 * mutant survives is not tested, or not needed (PROTOCOL §10).
 */
#ifndef RINGFENCE_RULE_H
#define RINGFENCE_RULE_H

#ifdef RF_MUTANT
#include "mutants.h"
#define RF_RULE(name, condition) ((RF_MUTANT != RF_MUTANT_##name) && (condition))
#else
#define RF_RULE(name, condition) (condition)
#endif

#ifndef __force
#define __force
#endif

#endif
