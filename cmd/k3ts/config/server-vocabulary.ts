import type { ConfigVocabulary } from "../cli/config-file.ts"
import { agentFlags } from "./agent-flags.ts"
import { k3sFlags } from "../k3s/flags.ts"
import { serverFlags } from "./server-flags.ts"

/** What the config file may say: the flags of `k3ts server` and `k3ts agent`, and those of k3s that are understood. */
export const serverVocabulary: ConfigVocabulary = {
  keys: [...new Set(Object.keys({ ...serverFlags, ...agentFlags }))].filter((name) => name !== "config"),
  foreign: k3sFlags,
}
