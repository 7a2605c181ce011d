import type { ClusterRoleBinding } from "../../api/rbac/v1/clusterrolebinding.ts"
import type { RoleBinding } from "../../api/rbac/v1/rolebinding.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, type Finding, type Opinion } from "../answer.ts"
import { doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { ACCOUNTS, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from "../reading/kinds.ts"

/** The API server takes bindings to what does not exist, and they give nobody a right. */
async function examine({ metadata, roleRef, subjects = [] }: RoleBinding | ClusterRoleBinding, ward: Ward) {
  const summary = `binds ${roleRef.kind} ${roleRef.name}`
  const absent = await absentSubjects(subjects, ward)
  const [kind, namespace] =
    roleRef.kind === "Role" ? ([ROLES, metadata.namespace] as const) : ([CLUSTER_ROLES] as const)
  const role = await ward.reader.get(kind, namespace, roleRef.name)
  if (role !== undefined)
    return absent.areAll
      ? unwell(summary, absent.findings)
      : healthy(
          summary,
          absent.findings.map((one): Finding => ({ ...one, weight: "note" })),
        )
  const there = (await ward.reader.listIfAllowed(kind, namespace)) ?? []
  // Whoever may make roles may make very many, and as many bindings.
  const near =
    there.length > MOST_COMPARED
      ? undefined
      : nearest(
          roleRef.name,
          there.map((one) => one.metadata.name ?? ""),
        )
  const isRole = roleRef.kind === "Role"
  const alike = isRole
    ? await ward.reader.get(CLUSTER_ROLES, undefined, roleRef.name)
    : await ward.reader.get(ROLES, metadata.namespace, roleRef.name)
  const other = alike === undefined ? undefined : `${isRole ? "a ClusterRole" : "a Role"} of this name`
  const instead = other ?? near
  const missing = finding(
    "role-missing",
    `${roleRef.kind} ${roleRef.name}, which it binds, does not exist${namespace === undefined ? "" : ` in namespace ${namespace}`}: it gives no right` +
      (instead === undefined ? "" : `; there is ${instead}`),
    { hints: ["create the role; or delete the binding and create it again, as its roleRef cannot be changed"] },
  )
  return unwell(summary, [missing, ...absent.findings])
}

/** With so many roles at most the name of a missing one is compared. */
const MOST_COMPARED = 200

type Subjects = NonNullable<RoleBinding["subjects"]>

/** A binding may name tens of thousands of accounts: so many that are not there are told of. */
const MOST_TOLD = 20

/**
 * Returns which ServiceAccounts there are not, and whether nobody else is bound. Users and groups are not objects of
 * the cluster.
 */
async function absentSubjects(
  subjects: Subjects,
  { reader }: Ward,
): Promise<{ readonly findings: readonly Finding[]; readonly areAll: boolean }> {
  const findings: Finding[] = []
  let absent = 0
  for (const { kind, name, namespace } of subjects) {
    if (kind !== "ServiceAccount" || (await reader.get(ACCOUNTS, namespace, name)) !== undefined) continue
    if (++absent > MOST_TOLD) continue
    findings.push(
      finding(
        "service-account-missing",
        `ServiceAccount ${namespace}/${name}, to which it gives the rights, does not exist`,
      ),
    )
  }
  return { findings, areAll: absent > 0 && absent === subjects.length }
}

export const roleBindingDoctor = doctor(ROLE_BINDINGS, (binding, ward): Promise<Opinion> => examine(binding, ward))
export const clusterRoleBindingDoctor = doctor(CLUSTER_ROLE_BINDINGS, (binding, ward): Promise<Opinion> =>
  examine(binding, ward),
)
