import type { ServiceAccount } from "../../api/core/v1/serviceaccount.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const SERVICE_ACCOUNTS = { group: "", version: "v1", resource: "serviceaccounts" }
const TITLE = "Image pull secrets:"

export const describeServiceAccount: Describer = async (describing, namespace, name) => {
  const account = await describing.client.get<ServiceAccount>(SERVICE_ACCOUNTS, namespace, name)
  const events = await eventsOf(describing, account)
  return description((w) => {
    describeMetadata(w, account.metadata)
    const secrets = account.imagePullSecrets ?? []
    if (secrets.length === 0) w.row(0, TITLE, "<none>")
    for (const [i, secret] of secrets.entries()) w.row(0, i === 0 ? TITLE : " ".repeat(TITLE.length), secret.name ?? "")
    describeEvents(w, events, describing.now())
  })
}
