import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { isNoMatch, SilentExit, type PartialResource } from "../../errors/errors.ts"
import { goJson, groupVersionText, type Unstructured } from "../../rest/json.ts"
import { parseResourceArg } from "../../rest/rest-mapper.ts"
import { printAccessList } from "./access-list.ts"

const RESOURCE_VERBS: ReadonlySet<string> = new Set(
  "get list watch create update patch delete deletecollection use bind impersonate * approve sign escalate attest".split(
    " ",
  ),
)
const PATH_VERBS: ReadonlySet<string> = new Set("get put post head options delete patch *".split(" "))
/** Resources that discovery does not have. */
const UNDISCOVERED: ReadonlySet<string> = new Set(["users", "groups"])

const flags = {
  "all-namespaces": boolFlag(false, "If true, ask about all namespaces.", { shorthand: "A" }),
  quiet: boolFlag(false, "If true, print nothing; the exit code is the answer.", { shorthand: "q" }),
  subresource: stringFlag("", "The subresource, such as log of pods or scale of deployments"),
  list: boolFlag(false, "If true, print all that is allowed."),
  "no-headers": boolFlag(false, "If true, print what is allowed without headers"),
}

type CanIInvocation = Invocation<typeof flags>

/** What is asked about: a path, or a resource with a name or without. */
type Subject = { readonly path: string } | { readonly resource: PartialResource; readonly name: string }

/** Source: kubectl pkg/cmd/auth/cani.go. */
export const canICommand = command({
  use: "can-i VERB [TYPE | TYPE/NAME | NONRESOURCEURL]",
  noFlagsInUse: true,
  short: "Check whether an action is allowed",
  long: `
Check whether an action is allowed.

 VERB is a verb of the API such as 'get', 'list', 'watch' or 'delete'. TYPE is a resource; short names and groups are understood. NONRESOURCEURL is a path that begins with "/". NAME is the name of one object. With the global flag --as the question is asked about another user.`,
  example: `
# May I create pods in any namespace?
kubectl auth can-i create pods --all-namespaces

# May I list deployments in my namespace?
kubectl auth can-i list deployments.apps

# May the service account "foo" of the namespace "dev" list the pods of the namespace "prod"?
kubectl auth can-i list pods --as=system:serviceaccount:dev:foo -n prod

# May I do everything in my namespace?
kubectl auth can-i '*' '*'

# May I read the logs of pods?
kubectl auth can-i get pods --subresource=log

# May I read the path /logs/?
kubectl auth can-i get /logs/

# List all that I may do in the namespace "foo"
kubectl auth can-i --list --namespace=foo`,
  flags,
  async run(invocation) {
    const { flags: values, args, factory } = invocation
    if (values.list) {
      if (args.length > 0) throw new Error("list option must be specified with no arguments")
      await factory.rest()
      const { namespace } = await factory.namespace()
      if (values.quiet || values["all-namespaces"] || values.subresource !== "")
        throw new Error("list option can't be specified with neither quiet, all-namespaces nor subresource options")
      return printAccessList(invocation, namespace, !values["no-headers"])
    }
    const subject = await subjectOf(invocation)
    await factory.rest()
    const namespace = values["all-namespaces"] ? "" : (await factory.namespace()).namespace
    await check(invocation, subject)
    await ask(invocation, subject, namespace)
  },
})

async function subjectOf({ args, factory }: CanIInvocation): Promise<Subject> {
  const [, what] = args
  if (args.length !== 2 || what === undefined)
    throw new Error(
      "you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.",
    )
  if (what.startsWith("/")) return { path: what }
  const slash = what.indexOf("/")
  const [type, name] = slash < 0 ? [what, ""] : [what.slice(0, slash), what.slice(slash + 1)]
  const mapper = await factory.restMapper()
  if (type === "*") return { resource: { group: "", version: "", resource: "*" }, name }
  const { full, partial } = parseResourceArg(type.toLowerCase())
  for (const wanted of full === undefined ? [partial] : [full, partial])
    try {
      return { resource: await mapper.resourceFor(wanted), name }
    } catch (err) {
      // Any other error is met again by the request.
      if (!isNoMatch(err)) break
    }
  const { resource, group } = partial
  if (!UNDISCOVERED.has(group === "" ? resource : `${resource}.${group}`))
    factory.warnings.print(
      `the server doesn't have a resource type '${resource}'${group === "" ? "" : ` in group '${group}'`}\n`,
    )
  return { resource: { group: "", version: "", resource: type }, name }
}

/** Warns of what makes the question a strange one. @throws Error for flags that do not go with it */
async function check({ flags: values, args, factory }: CanIInvocation, subject: Subject): Promise<void> {
  const verb = args[0]!
  const warnOfVerb = () => factory.warnings.print(`verb '${verb}' is not a known verb\n`)
  if ("path" in subject) {
    if (values.subresource !== "") throw new Error("--subresource can not be used with NonResourceURL")
    if (!PATH_VERBS.has(verb)) warnOfVerb()
  } else if (subject.resource.resource !== "" && !values["all-namespaces"]) {
    const { group, resource } = subject.resource
    if (await isClusterScoped({ factory }, subject.resource))
      factory.warnings.print(
        `resource '${resource}' is not namespace scoped${group === "" ? "" : ` in group '${group}'`}\n`,
      )
    if (!RESOURCE_VERBS.has(verb)) warnOfVerb()
  }
  if (values["no-headers"]) throw new Error("--no-headers cannot be set without --list specified")
}

async function isClusterScoped(
  { factory }: Pick<CanIInvocation, "factory">,
  { group, version, resource }: PartialResource,
): Promise<boolean> {
  if (version === "") return false
  try {
    const discovery = await factory.discovery()
    const { resources } = await discovery.resourcesOf(groupVersionText(group, version))
    return resources.find(({ name }) => name === resource)?.namespaced === false
  } catch {
    return false
  }
}

interface AccessReview extends Unstructured {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string; readonly evaluationError?: string }
}

/** @throws SilentExit when it is not allowed */
async function ask({ flags: values, args, factory, out }: CanIInvocation, subject: Subject, namespace: string) {
  const verb = args[0]!
  const present = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""))
  const spec =
    "path" in subject
      ? { nonResourceAttributes: present({ path: subject.path, verb }) }
      : {
          resourceAttributes: present({
            namespace,
            verb,
            group: subject.resource.group,
            resource: subject.resource.resource,
            subresource: values.subresource,
            name: subject.name,
          }),
        }
  const review = {
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec,
    status: { allowed: false },
  }
  const client = await factory.client()
  const { status = {} } = (await client.object({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: `${goJson(review, { sorted: false })}\n`,
  })) as AccessReview
  const { allowed = false, reason = "", evaluationError = "" } = status
  const why = [reason, evaluationError].filter((text) => text !== "").map((text) => ` - ${text}`)
  if (!values.quiet) await out.write(allowed ? "yes\n" : `no${why.join("")}\n`)
  if (!allowed) throw new SilentExit(1)
}
