import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ClusterRole } from "../../api/rbac/v1/clusterrole.ts"
import type { Role } from "../../api/rbac/v1/role.ts"
import { finding, mend, type Finding, type Mend } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CLUSTER_ROLES, ROLES } from "../reading/kinds.ts"

/** The API server's words for a request without a right. */
const FORBIDDEN =
  /User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)"| at the cluster scope)?/

interface Right {
  readonly verb: string
  readonly resource: string
  readonly group: string
  readonly namespace: string | undefined
}

/** Returns which right a service account lacks, by a line of a log; undefined for other lines. */
export async function rightFinding(pod: Pod, line: string, ward: Ward): Promise<Finding | undefined> {
  // Logs in JSON escape the quotes.
  const match = FORBIDDEN.exec(line.replaceAll('\\"', '"'))
  if (match === null) return undefined
  const [, user = "", verb = "", resource = "", group = "", namespace] = match
  const right = { verb, resource, group, namespace }
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user)
  const who = account === null ? `user ${user}` : `ServiceAccount ${account[1]}/${account[2]}`
  const where = namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`
  const holders = await rolesWith(right, ward)
  const [holder] = holders
  const mends = account === null ? [] : mendsFor(account[1]!, account[2]!, right, holder)
  return finding(
    "right-missing",
    `${who} needs ${verb} on ${resource}${group === "" ? "" : `.${group}`} ${where}, and has no such right; ` +
      (holder === undefined ? "no role has it" : `${holder.kind} ${holder.name} has it, and is not bound to it`),
    {
      evidence: [
        `log: ${line.trim()}`,
        ...(account !== null && account[2] === "default" && pod.spec.serviceAccountName !== "default"
          ? []
          : account?.[2] === "default"
            ? ["the pod names no serviceAccountName, so it runs as default"]
            : []),
      ],
      mends,
    },
  )
}

interface Holder {
  readonly kind: "Role" | "ClusterRole"
  readonly name: string
}

/** Returns the roles that grant little more than a right: those of the cluster's own parts are left out. */
async function rolesWith({ verb, resource, group, namespace }: Right, { reader }: Ward): Promise<readonly Holder[]> {
  const grants = ({ rules }: Role | ClusterRole) =>
    (rules ?? []).some(
      ({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }) =>
        verbs.includes(verb) && apiGroups.includes(group) && resources.includes(resource) && resourceNames.length === 0,
    )
  const own = namespace === undefined ? [] : ((await reader.listIfAllowed(ROLES, namespace)) ?? [])
  const cluster = (await reader.listIfAllowed(CLUSTER_ROLES)) ?? []
  return [
    ...own.filter(grants).map(({ metadata }): Holder => ({ kind: "Role", name: metadata.name ?? "" })),
    ...cluster
      .filter((role) => role.metadata.labels?.["kubernetes.io/bootstrapping"] === undefined && grants(role))
      .map(({ metadata }): Holder => ({ kind: "ClusterRole", name: metadata.name ?? "" })),
  ]
}

function mendsFor(namespace: string, account: string, right: Right, holder: Holder | undefined): readonly Mend[] {
  const subject = `--serviceaccount=${namespace}:${account}`
  const { verb, resource, group } = right
  const what =
    group === ""
      ? resource
      : `${resource.split("/")[0]!}.${group}${resource.includes("/") ? `/${resource.split("/")[1]!}` : ""}`
  const name = holder?.name ?? `${account}-${resource.replaceAll("/", "-")}-${verb}`
  const isWide = right.namespace === undefined
  const binding = `${account}-${name}`
  const bind = isWide
    ? `kubectl create clusterrolebinding ${binding} --clusterrole=${name} ${subject}`
    : `kubectl create rolebinding ${binding} -n ${right.namespace!} --${holder?.kind === "ClusterRole" ? "clusterrole" : "role"}=${name} ${subject}`
  if (holder !== undefined)
    return isWide && holder.kind === "Role"
      ? []
      : [mend(bind, `gives the account all rights of ${holder.kind} ${holder.name}`)]
  const make = isWide
    ? `kubectl create clusterrole ${name} --verb=${verb} --resource=${what}`
    : `kubectl create role ${name} -n ${right.namespace!} --verb=${verb} --resource=${what}`
  return [mend(`${make} && ${bind}`, "gives the account this right and no other")]
}
