import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { adminToken } from "../credentials.ts"
import { configFlag, dataDirFlag } from "../config/server-flags.ts"
import { create, generate, list, remove } from "../token/bootstrap.ts"
import { rotate } from "../token/rotate.ts"
import { forServiceAccount } from "../token/serviceaccount.ts"

const alone = defineCommand({
  summary: "Print the administrator's bearer token",
  flags: { config: configFlag(), "data-dir": dataDirFlag() },
  run: ({ flags, print }) => {
    print(`${adminToken(flags["data-dir"])}\n`)
    return Promise.resolve(0)
  },
})

const group: CommandGroup = {
  summary: "Tokens by which machines join, and tokens to reach the API server with",
  commands: { create, list, delete: remove, generate, rotate, serviceaccount: forServiceAccount },
  alone,
}
export default group
