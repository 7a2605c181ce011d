import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Command, type Invocation } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import { filenameFlags, filenameOptions } from "../../command/shared-flags.ts"
import { isConflict, isNotFound } from "../../errors/status-error.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { Helper } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { parseGroupVersion, type Unstructured } from "../../rest/json.ts"
import type { RestMapping } from "../../rest/rest-mapper.ts"

const GROUP = "certificates.k8s.io"
const REQUESTS: RestMapping = {
  resource: { group: GROUP, version: "v1", resource: "certificatesigningrequests" },
  kind: { group: GROUP, version: "v1", kind: "CertificateSigningRequest" },
  namespaced: false,
}
const MOST_CONFLICTS = 10

interface SigningRequest extends Unstructured {
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] }
}

/** What a command decides about a request. */
interface Decision {
  readonly condition: "Approved" | "Denied"
  readonly excludes: "Approved" | "Denied"
  readonly reason: string
  readonly message: string
}

const flagsOf = (operation: string) => ({
  ...printFlags(),
  force: boolFlag(false, `Update the request even if it is already ${operation}.`),
  ...filenameFlags("with the requests to update"),
})

type DecisionInvocation = Invocation<ReturnType<typeof flagsOf>>

function decisionCommand(
  verb: "approve" | "deny",
  decision: Decision,
  { short, long }: Pick<Command, "short"> & { readonly long: string },
): Command {
  const operation = decision.condition.toLowerCase()
  return command({
    use: `${verb} (-f FILENAME | NAME)`,
    noFlagsInUse: true,
    short,
    long,
    example: `
# ${verb === "approve" ? "Approve" : "Deny"} the request 'csr-sqgzp'
kubectl certificate ${verb} csr-sqgzp`,
    flags: flagsOf(operation),
    async run(invocation) {
      await decide(invocation, operation, decision)
    },
  })
}

async function decide(invocation: DecisionInvocation, operation: string, decision: Decision): Promise<void> {
  const { flags: values, args, factory, out } = invocation
  const printer = await printerOf(values, operation, factory)
  await factory.rest()
  if (args.length === 0 && values.filename.length === 0 && values.kustomize === "")
    throw new Error("one or more CSRs must be specified as <name> or -f <filename>")
  const result = await factory.build({
    files: filenameOptions(values),
    defaultType: REQUESTS.resource.resource,
    names: args,
    continueOnError: true,
    flatten: true,
    latest: true,
  })
  let found = 0
  await result.visit(async (info) => {
    await decideOne(info, invocation, decision)
    found++
    await printer.print(info.loaded, out)
  })
  if (found === 0) await out.write("No resources found\n")
}

/** Adds the condition to a request, again while others change it. */
async function decideOne(
  info: Info,
  { flags: { force }, factory, environment }: DecisionInvocation,
  { condition, excludes, reason, message }: Decision,
): Promise<void> {
  const helper = new Helper(await factory.client(), REQUESTS)
  for (let attempt = 0; ; attempt++) {
    const { apiVersion = "", kind = "", metadata: { name = "" } = {} } = info.loaded
    const { group } = parseGroupVersion(apiVersion)
    const groupKind = group === "" ? kind : `${kind}.${group}`
    const wanted = `${REQUESTS.kind.kind}.${GROUP}`
    if (groupKind !== wanted) throw new Error(`can only handle ${wanted} objects, got ${groupKind}`)
    let request: SigningRequest
    try {
      request = await helper.get("", name)
    } catch (err) {
      if (isNotFound(err)) throw new Error(`could not find v1 version of ${name}: ${err.message}`, { cause: err })
      throw err
    }
    const conditions = request.status?.conditions ?? []
    if (conditions.some(({ type }) => type === excludes))
      throw new Error(`certificate signing request ${goQuoted(name)} is already ${excludes}`)
    const isDecided = conditions.some(({ type }) => type === condition)
    if (isDecided && !force) return
    const lastUpdateTime = `${new Date(environment.clock.now()).toISOString().slice(0, 19)}Z`
    const added = { type: condition, status: "True", reason, message, lastUpdateTime, lastTransitionTime: null }
    const status = { ...request.status, conditions: isDecided ? conditions : [...conditions, added] }
    try {
      await helper.replace("", name, { ...request, status } as Unstructured, { subresource: "approval" })
      return
    } catch (err) {
      if (!isConflict(err) || attempt >= MOST_CONFLICTS) throw err
      await info.get()
    }
  }
}

/** Its help is no failure, as upstream's. Source: kubectl pkg/cmd/certificates. */
export const certificateCommand = command({
  use: "certificate SUBCOMMAND",
  noFlagsInUse: true,
  short: "Modify certificate resources",
  long: `
Modify certificate resources.`,
  commands: [
    decisionCommand(
      "approve",
      {
        condition: "Approved",
        excludes: "Denied",
        reason: "KubectlApprove",
        message: "This CSR was approved by kubectl certificate approve.",
      },
      {
        short: "Approve a certificate signing request",
        long: `
Approve a certificate signing request.

 It tells the signer to issue a certificate with the attributes that the request asks for.

 A certificate may give access to the cluster, or to the identity that the request names: know what the certificate allows before you approve of it.`,
      },
    ),
    decisionCommand(
      "deny",
      {
        condition: "Denied",
        excludes: "Approved",
        reason: "KubectlDeny",
        message: "This CSR was denied by kubectl certificate deny.",
      },
      {
        short: "Deny a certificate signing request",
        long: `
Deny a certificate signing request.

 It tells the signer to issue no certificate.`,
      },
    ),
  ],
  run: ({ out, help }) => out.write(help()),
})
