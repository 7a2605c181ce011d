import type { TokenRequest } from "../../../pkg/api/authentication/v1/tokenrequest.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { defineCommand } from "../cli/command.ts"
import { list, value } from "../cli/flags.ts"
import { notEmpty } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { duration } from "../cli/values.ts"
import { serverPlace, withAdminClient } from "./admin-client.ts"

export const forServiceAccount = defineCommand({
  summary: "Issue a bearer token for a service account; the server must be running",
  flags: {
    ...serverPlace,
    ttl: value(duration.prefault("1h"), "How long it is valid", { placeholder: "DURATION", defaultText: "1h" }),
    audience: list(notEmpty, "Audience that accepts it", {
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
    const { status } = await withAdminClient(flags, (client) =>
      client.createSubresource<TokenRequest>(ServiceAccount, { namespace, name }, "token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { audiences: flags.audience, expirationSeconds: flags.ttl },
      }),
    )
    print(`${status.token}\n`)
  },
})
