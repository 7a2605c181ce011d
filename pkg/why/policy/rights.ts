import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ClusterRole } from "../../api/rbac/v1/clusterrole.ts"
import type { RoleBinding } from "../../api/rbac/v1/rolebinding.ts"
import type { Role } from "../../api/rbac/v1/role.ts"
import { finding, mend, type Finding, type Mend } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from "../reading/kinds.ts"
import { nearlyBound } from "./near-bindings.ts"
import type { Holder, Right } from "./right.ts"
import { command } from "../command.ts"

/** The API server's words for a request without a right. */
const FORBIDDEN =
  /User "([^"]+)" cannot (\w+) resource "([a-z0-9./-]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)"| at the cluster scope)?/

/** The object whose right is missing, before those words: `secrets "db" is forbidden: `. */
const NAMED = / "([\w.:-]+)" is forbidden: $/

/** Returns which right a service account lacks, by a line of a log; undefined for other lines. */
export async function rightFinding(pod: Pod, line: string, ward: Ward): Promise<Finding | undefined> {
  // Logs in JSON escape the quotes.
  const text = line.replaceAll('\\"', '"')
  const match = FORBIDDEN.exec(text)
  if (match === null) return pathRightFinding(pod, text, ward)
  const [, user = "", verb = "", resource = "", group = "", namespace] = match
  const object = NAMED.exec(text.slice(0, match.index))?.[1]
  const right = { verb, resource, group, namespace, ...(object === undefined ? {} : { object }) }
  const account = /^system:serviceaccount:([^:]+):(.+)$/.exec(user)
  const who = account === null ? `user ${user}` : `ServiceAccount ${account[1]}/${account[2]}`
  const where = namespace === undefined ? "in the whole cluster" : `in namespace ${namespace}`
  const [holder] = await rolesWith(right, ward)
  if (account !== null && (await isBound(account[1]!, account[2]!, right, ward)))
    return finding(
      "right-given-since",
      `${who} had no right to ${verb} ${resource} when its pod asked, and has it now; perhaps the pod has not asked again`,
      { evidence: [`log: ${line.trim()}`], sure: false, weight: "waiting" },
    )
  // Whoever writes a log can name any account in it: rights are given to the pod's own alone.
  const isOwn = account?.[1] === pod.metadata.namespace && account?.[2] === (pod.spec.serviceAccountName ?? "default")
  const mends = isOwn ? mendsFor(account![1]!, account![2]!, right, holder) : []
  const nearly = account === null ? [] : await nearlyBound(account[1]!, account[2]!, right, holder, ward)
  return finding(
    "right-missing",
    `${who} needs ${verb} on ${resource}${group === "" ? "" : `.${group}`} ${where}, and has no such right; ` +
      (holder === undefined ? "no role has it" : `${holder.kind} ${holder.name} has it, and is not bound to it`) +
      nearly.map((words) => `; ${words}`).join(""),
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

/** The words for a path that is no object, such as /metrics. */
const FORBIDDEN_PATH = /User "system:serviceaccount:([^":]+):([^"]+)" cannot (\w+) path "([^"]+)"/

/** Returns which right for a path a service account lacks; undefined for other lines. */
async function pathRightFinding(pod: Pod, text: string, { reader }: Ward): Promise<Finding | undefined> {
  const [, namespace, account, verb = "", path = ""] = FORBIDDEN_PATH.exec(text) ?? []
  if (namespace === undefined || account === undefined) return undefined
  const roles = ((await reader.listIfAllowed(CLUSTER_ROLES)) ?? []).filter(({ rules }) =>
    rules?.some(({ verbs = [], nonResourceURLs = [] }) => verbs.includes(verb) && nonResourceURLs.includes(path)),
  )
  const holder = roles.find(({ metadata }) => !metadata.name?.startsWith("system:"))?.metadata.name
  const isOwn = namespace === pod.metadata.namespace && account === (pod.spec.serviceAccountName ?? "default")
  const name = holder ?? `${account}${path.replaceAll(/[^a-z0-9]+/gi, "-").replace(/-$/, "")}-${verb}`.toLowerCase()
  const subject = `${namespace}:${account}`
  const bound = `${account}-${name}`
  const bind = command`kubectl create clusterrolebinding ${bound} --clusterrole=${name} --serviceaccount=${subject}`
  const make = command`kubectl create clusterrole ${name} --verb=${verb} --non-resource-url=${path}`
  return finding(
    "right-missing",
    `ServiceAccount ${namespace}/${account} needs ${verb} on the path ${path}, and has no such right; ` +
      (holder === undefined ? "no role has it" : `ClusterRole ${holder} has it, and is not bound to it`),
    {
      evidence: [`log: ${text.trim()}`],
      mends: isOwn
        ? [
            mend(
              holder === undefined ? command`${make} && ${bind}` : bind,
              holder === undefined
                ? "gives the account this right and no other"
                : `gives the account all rights of ClusterRole ${holder}`,
            ),
          ]
        : [],
    },
  )
}

/** Whether a role with the right is bound to an account by now. */
async function isBound(namespace: string, account: string, right: Right, ward: Ward): Promise<boolean> {
  const { reader } = ward
  const isSubject = (subjects: RoleBinding["subjects"] = []) =>
    subjects.some(({ kind, name, namespace: of }) =>
      kind === "ServiceAccount"
        ? name === account && of === namespace
        : kind === "Group"
          ? ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"].includes(name)
          : name === `system:serviceaccount:${namespace}:${account}`,
    )
  const local =
    right.namespace === undefined ? [] : ((await reader.listIfAllowed(ROLE_BINDINGS, right.namespace)) ?? [])
  const wide = (await reader.listIfAllowed(CLUSTER_ROLE_BINDINGS)) ?? []
  for (const { roleRef, subjects } of [...local, ...wide].filter((one) => isSubject(one.subjects))) {
    if (!isSubject(subjects)) continue
    const role =
      roleRef.kind === "Role"
        ? await reader.get(ROLES, right.namespace, roleRef.name)
        : await reader.get(CLUSTER_ROLES, undefined, roleRef.name)
    if (role !== undefined && grants(role, right)) return true
  }
  return false
}

const grants = ({ rules }: Role | ClusterRole, { verb, resource, group, object }: Right): boolean =>
  (rules ?? []).some(
    ({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }) =>
      [verb, "*"].some((one) => verbs.includes(one)) &&
      [group, "*"].some((one) => apiGroups.includes(one)) &&
      [resource, "*"].some((one) => resources.includes(one)) &&
      (resourceNames.length === 0 || (object !== undefined && resourceNames.includes(object))),
  )

/** Returns the roles that grant little more than a right: those of the cluster's own parts are left out. */
async function rolesWith(right: Right, { reader }: Ward): Promise<readonly Holder[]> {
  const { verb, resource, group, namespace, object } = right
  // A role that grants everything is not what the account lacks.
  const names = ({ rules }: Role | ClusterRole) =>
    (rules ?? []).some(
      ({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }) =>
        verbs.includes(verb) &&
        apiGroups.includes(group) &&
        resources.includes(resource) &&
        (resourceNames.length === 0 || (object !== undefined && resourceNames.includes(object))),
    )
  const own = namespace === undefined ? [] : ((await reader.listIfAllowed(ROLES, namespace)) ?? [])
  const cluster = (await reader.listIfAllowed(CLUSTER_ROLES)) ?? []
  return [
    ...own.filter(names).map(({ metadata }): Holder => ({ kind: "Role", name: metadata.name ?? "" })),
    ...cluster
      .filter((role) => role.metadata.labels?.["kubernetes.io/bootstrapping"] === undefined && names(role))
      .map(({ metadata }): Holder => ({ kind: "ClusterRole", name: metadata.name ?? "" })),
  ]
}

function mendsFor(namespace: string, account: string, right: Right, holder: Holder | undefined): readonly Mend[] {
  const { verb, resource, group } = right
  const [whole, part] = resource.split("/") as [string, string?]
  const what = `${whole}${group === "" ? "" : `.${group}`}${part === undefined ? "" : `/${part}`}`
  const name = holder?.name ?? `${account}-${resource.replaceAll("/", "-")}-${verb}`
  const isWide = right.namespace === undefined
  const where = isWide ? [] : command` -n ${right.namespace}`
  const kind = isWide || holder?.kind === "ClusterRole" ? "clusterrole" : "role"
  const binding = isWide ? "clusterrolebinding" : "rolebinding"
  const subject = `${namespace}:${account}`
  const bound = `${account}-${name}`
  const bind = command`kubectl create ${binding} ${bound}${where} --${kind}=${name} --serviceaccount=${subject}`
  if (holder !== undefined)
    return isWide && holder.kind === "Role"
      ? []
      : [mend(bind, `gives the account all rights of ${holder.kind} ${holder.name}`)]
  const make = command`kubectl create ${kind} ${name}${where} --verb=${verb} --resource=${what}`
  return [mend(command`${make} && ${bind}`, "gives the account this right and no other")]
}
