import { command } from "../../command/command.ts"
import { isForbidden, isNotFound } from "../../errors/status-error.ts"
import { listText } from "../../describe/policy-rules.ts"
import { typedObject } from "../../printers/printer.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"
import type { Output } from "../../printers/output.ts"
import { goJson, sortKeys, type Unstructured } from "../../rest/json.ts"
import type { RestClient } from "../../rest/rest-client.ts"

/** The versions that are tried, the newest first. */
const VERSIONS = ["v1", "v1beta1", "v1alpha1"]

interface SubjectReview extends Unstructured {
  readonly status?: {
    readonly userInfo?: {
      readonly username?: string
      readonly uid?: string
      readonly groups?: readonly string[]
      readonly extra?: Readonly<Record<string, readonly string[]>>
    }
  }
}

/** Source: kubectl pkg/cmd/auth/whoami.go. */
export const whoAmICommand = command({
  use: "whoami",
  noFlagsInUse: true,
  short: "Experimental: Check self subject attributes",
  long: `
Experimental: Print who you are for the server: the name, the groups and what else it knows.

 This is of use where users are found out by a webhook, a proxy or an OIDC provider.`,
  example: `
# Print who you are
kubectl auth whoami

# Print it as JSON
kubectl auth whoami -o json`,
  flags: printFlags(),
  async run({ flags, changed, factory, out }) {
    await factory.rest()
    const printer = changed("output")
      ? await printerOf(flags, "", { outputIsSet: true, readFile: (path) => factory.readFile(path) })
      : undefined
    let review: SubjectReview
    try {
      review = await reviewed(await factory.client())
    } catch (err) {
      const notEnabled = "the selfsubjectreviews API is not enabled in the cluster"
      if (isForbidden(err)) throw new Error(`${notEnabled} or you do not have permission to call it`, { cause: err })
      if (isNotFound(err)) throw new Error(notEnabled, { cause: err })
      throw err
    }
    if (printer === undefined) await printTable(review, out)
    else await printer.print(typedObject(inOrder(review)), out)
  },
})

/** Returns the review with its fields in the order of Go's types; what is extra is a map there. */
function inOrder({ kind, apiVersion, metadata, status }: SubjectReview): SubjectReview {
  const { extra, ...user } = status?.userInfo ?? {}
  const sorted = extra === undefined ? {} : { extra: sortKeys(extra) as typeof extra }
  return { kind: kind!, apiVersion: apiVersion!, metadata: metadata!, status: { userInfo: { ...user, ...sorted } } }
}

async function reviewed(client: RestClient): Promise<SubjectReview> {
  let missing: unknown
  for (const version of VERSIONS) {
    const apiVersion = `authentication.k8s.io/${version}`
    const review = { kind: "SelfSubjectReview", apiVersion, metadata: {}, status: { userInfo: {} } }
    try {
      return (await client.object({
        method: "POST",
        path: `/apis/${apiVersion}/selfsubjectreviews`,
        body: `${goJson(review, { sorted: false })}\n`,
      })) as SubjectReview
    } catch (err) {
      if (!isNotFound(err)) throw err
      missing = err
    }
  }
  throw missing
}

async function printTable({ status }: SubjectReview, out: Output): Promise<void> {
  const { username = "", uid = "", groups = [], extra = {} } = status?.userInfo ?? {}
  const table = newTabWriter(out)
  await table.write("ATTRIBUTE\tVALUE\n")
  if (username !== "") await table.write(`Username\t${username}\n`)
  if (uid !== "") await table.write(`UID\t${uid}\n`)
  if (groups.length > 0) await table.write(`Groups\t${listText(groups)}\n`)
  for (const key of Object.keys(extra).sort()) await table.write(`Extra: ${key}\t${listText(extra[key]!)}\n`)
  await table.flush()
}
