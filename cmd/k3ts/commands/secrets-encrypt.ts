import type { EncryptionStatus } from "../../../components/apiserver/encryption/secrets-encryption.ts"
import { defineCommand, type Command, type CommandGroup } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"
import { askServer } from "../ask-server.ts"
import { bindAddressFlag, configFlag, dataDirFlag, portFlag } from "../config/server-flags.ts"
import { table } from "../table.ts"

const SERVER_FLAGS = {
  config: configFlag(),
  "data-dir": dataDirFlag(),
  "bind-address": bindAddressFlag(),
  "https-listen-port": portFlag(),
}

const status = defineCommand({
  summary: "Show whether Secrets are encrypted, with which key, and how far the last change has come",
  flags: { ...SERVER_FLAGS, output: oneOf(["text", "json"], "text", "Form of the output") },
  async run({ flags, print }) {
    const shown = (await askServer(flags, "GET", "/v1-k3ts/encrypt/status")) as EncryptionStatus
    print(flags.output === "json" ? `${JSON.stringify(shown, undefined, 2)}\n` : textOf(shown))
  },
})

/** The lines are those of k3s. */
function textOf({
  enable,
  stage,
  activekey,
  inactivekeys,
  configfile,
  failed,
  failures = [],
}: EncryptionStatus): string {
  if (enable === undefined) return "Encryption Status: Disabled, no configuration file found\n"
  const lines = [
    `Encryption Status: ${enable ? "Enabled" : "Disabled"}${configfile === undefined ? "" : `, by ${configfile}`}`,
    `Current Rotation Stage: ${stage}`,
    ...(failed === undefined
      ? []
      : [`Values that cannot be decrypted: ${failed}`, ...failures.map((one) => `  ${one}`)]),
  ]
  if (configfile !== undefined) return `${lines.join("\n")}\n`
  const keys = [...(activekey === "" ? [] : [["*", activekey]]), ...inactivekeys.map((key) => ["", key])]
  const rows = keys.map(([mark = "", key = ""]) => [mark, ...key.split(" ")])
  return `${lines.join("\n")}\n\n${table(["Active", "Key Type", "Name"], rows)}`
}

const changing = (change: string, summary: string, done: string): Command =>
  defineCommand({
    summary,
    flags: SERVER_FLAGS,
    async run({ flags, print }) {
      await askServer(flags, "PUT", `/v1-k3ts/encrypt/config?change=${change}`)
      print(`${done}\n`)
    },
  })

/** A step of k3s' classic rotation, which has no counterpart. */
const classic = (step: string): Command =>
  defineCommand({
    summary: `Of k3s; k3ts does it with rotate-keys`,
    flags: SERVER_FLAGS,
    run: () =>
      Promise.reject(
        new Error(
          `secrets-encrypt ${step} is a step that k3ts does not need: run k3ts secrets-encrypt rotate-keys, which ` +
            "makes a key, encrypts everything with it and drops the old one, without a restart",
        ),
      ),
  })

const group: CommandGroup = {
  summary: "Encryption of Secrets on the disk; the server must be running",
  commands: {
    status,
    enable: changing("enable", "Encrypt Secrets from now on, and those that are there", "secrets-encryption enabled"),
    disable: changing(
      "disable",
      "Write Secrets as they are from now on, and those that are there",
      "secrets-encryption disabled",
    ),
    "rotate-keys": changing(
      "rotate-keys",
      "Make a new key, encrypt everything with it and drop the old one",
      "keys rotated, reencryption started",
    ),
    reencrypt: changing(
      "reencrypt",
      "Write everything anew that is not encrypted as it would be now",
      "reencryption started",
    ),
    prepare: classic("prepare"),
    rotate: classic("rotate"),
  },
}
export default group
