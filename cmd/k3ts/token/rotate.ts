import { z } from "zod"
import { newPassword, writeJoinTokens } from "../../../components/supervisor/join-tokens.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { defineCommand } from "../cli/command.ts"
import { value } from "../cli/flags.ts"
import { join } from "node:path"
import { serverCa, serverPlace } from "./admin-client.ts"

export const rotate = defineCommand({
  summary: "Replace the tokens by which servers and agents join",
  details:
    "The old tokens join nobody any more, at once and without a restart. Machines that have joined go on, since they " +
    "have certificates. The tokens are in the files node-token and agent-token of <data-dir>/server.",
  flags: {
    ...serverPlace,
    "new-token": value(z.string().optional(), "The new token of servers; made by chance unless given", {
      placeholder: "TOKEN",
    }),
  },
  run({ flags, print }) {
    const dir = join(flags["data-dir"], "server")
    writeJoinTokens({
      dir,
      caPem: serverCa(flags),
      random: systemRandom,
      serverToken: flags["new-token"] ?? newPassword(systemRandom),
      agentToken: newPassword(systemRandom),
    })
    print(`The new tokens are in ${join(dir, "node-token")} and ${join(dir, "agent-token")}\n`)
    return Promise.resolve(0)
  },
})
