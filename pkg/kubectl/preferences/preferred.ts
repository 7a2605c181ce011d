import type { Environment } from "../environment/environment.ts"
import type { Output } from "../printers/output.ts"
import { Log } from "../rest/log.ts"
import { applyPreference, type Commands, type Preferred } from "./apply.ts"
import type { KubercPath } from "./kuberc-path.ts"
import { loadPreference } from "./load.ts"
import { pluginPolicyOf, type PluginPolicy } from "./preference.ts"
import { validatePreference } from "./validate.ts"

/** Reads the preferences and applies them to a command line; undefined when there are none. */
export async function preferred(
  path: KubercPath,
  argv: readonly string[],
  environment: Environment,
  errOut: Output,
  commands: Omit<Commands, "warn">,
): Promise<(Preferred & { readonly policy: PluginPolicy }) | undefined> {
  const { clock, processId } = environment
  const log = new Log({ out: errOut, clock, level: levelIn(argv), processId })
  try {
    let preference
    try {
      preference = await loadPreference(path, environment, errOut, (message) => log.info(5, message, "marshal.go:96"))
    } catch (err) {
      throw new Error(`kuberc error ${(err as Error).message}`, { cause: err })
    }
    if (preference === undefined) return undefined
    validatePreference(preference)
    const applied = await applyPreference(preference, argv, { ...commands, warn: (line) => errOut.write(line) })
    return { ...applied, policy: pluginPolicyOf(preference) }
  } finally {
    await log.flushed()
  }
}

/** The level of the log, which is needed before the flags are read. */
function levelIn(argv: readonly string[]): number {
  const at = argv.findIndex((arg) => /^--?v(=|$)/.test(arg))
  if (at === -1) return 0
  const text = /(?<!\d)\d+$/.exec(argv[at]!)?.[0] ?? argv[at + 1] ?? ""
  return Number(text) || 0
}
