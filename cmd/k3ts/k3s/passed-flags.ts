import { didYouMean } from "../../../pkg/names/suggest.ts"
import type { ForeignFlag } from "../cli/foreign-flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import type * as programs from "./programs.ts"
import { nameAndValue, refusalOf, type UpstreamFlags } from "./upstream-arg.ts"

/** The list flag to which flags without effect are added, as `PROGRAM/NAME`. */
export const WITHOUT_EFFECT = "without-effect"

/** Loads the tables with the first flag that is passed, since few servers are given one. */
const load = (): typeof programs => require("./programs.ts") // oxlint-disable-line typescript/no-require-imports

/** Returns the flags of a program of Kubernetes, by their names; none of a program that does not exist. */
export const flagsOf = (program: string): UpstreamFlags => load().PROGRAMS[program] ?? {}

/** Takes `name=value`, as `--kube-proxy-arg proxy-mode=iptables` has it. */
export const passes = (program: string): ForeignFlag => ({
  kind: "value",
  becomes(written) {
    const [name, value] = nameAndValue(written)
    const flags = flagsOf(program)
    const flag = Object.hasOwn(flags, name) ? flags[name]! : undefined
    if (flag === undefined) throw new UsageError(unknown(program, name, Object.keys(flags)))
    if ("done" in flag) return [[flag.done, value]]
    const refusal = refusalOf(flag, value)
    if (refusal !== undefined) throw new UsageError(`k3ts has no ${JSON.stringify(name)} of ${program}: ${refusal}`)
    return [[WITHOUT_EFFECT, `${program}/${name}`]]
  },
})

const unknown = (program: string, name: string, names: readonly string[]): string =>
  `${program} of Kubernetes 1.36 has no flag ${JSON.stringify(name)}${didYouMean(name, names)}`
