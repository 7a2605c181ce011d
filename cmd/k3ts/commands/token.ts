import { z } from "zod"
import type { TokenRequest } from "../../../pkg/api/authentication/v1/tokenrequest.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { createHttpsTransport } from "../../../pkg/client/https.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { list, value } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import { duration } from "../cli/values.ts"
import { adminToken, localServer, openPki } from "../credentials.ts"
import { bindAddressFlag, configFlag, dataDirFlag, portFlag } from "../server-flags.ts"

const alone = defineCommand({
  summary: "Print the administrator's bearer token",
  flags: { config: configFlag(), "data-dir": dataDirFlag() },
  run: ({ flags, print }) => {
    print(`${adminToken(flags["data-dir"])}\n`)
    return Promise.resolve(0)
  },
})

const create = defineCommand({
  summary: "Issue a bearer token for a service account; the server must be running",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    "bind-address": bindAddressFlag(),
    "https-listen-port": portFlag(),
    ttl: value(duration.prefault("1h"), "How long it is valid", { placeholder: "DURATION", defaultText: "1h" }),
    audience: list(z.string().min(1, "must not be empty"), "Who is to accept it", {
      placeholder: "NAME",
      defaultText: "the API server",
    }),
  },
  positionals: { name: "[NAMESPACE/]SERVICEACCOUNT", min: 1, max: 1 },
  async run({ flags, args, print }) {
    const parts = args[0]!.split("/")
    const [namespace, name] = parts.length === 1 ? ["default", parts[0]!] : [parts[0]!, parts[1] ?? ""]
    if (parts.length > 2 || namespace === "" || name === "")
      throw new UsageError(`invalid service account ${JSON.stringify(args[0])}: must be NAME or NAMESPACE/NAME`)
    const dataDir = flags["data-dir"]
    const pki = openPki(dataDir, () => realClock.now())
    const server = localServer(flags)
    const transport = createHttpsTransport({
      config: { server, ca: pki.authorities["server-ca"].certPem, token: adminToken(dataDir) },
      userAgent: "k3ts",
    })
    try {
      const { status } = await newClient(transport).createSubresource<TokenRequest>(
        ServiceAccount,
        { namespace, name },
        "token",
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { audiences: flags.audience, expirationSeconds: flags.ttl },
        },
      )
      print(`${status.token}\n`)
    } finally {
      transport.close()
    }
  },
})

const group: CommandGroup = { summary: "Tokens to reach the API server with", commands: { create }, alone }
export default group
