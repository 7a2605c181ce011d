import type { Namespace } from "../api/core/v1/namespace.ts"
import { humanDuration, parseTime } from "../apimachinery/scalars/time.ts"
import { finding, type Finding } from "./answer.ts"
import { askThrough, doctor, healthy, unwell, type Ward } from "./doctor.ts"
import { refusalFinding } from "./policy/refusals.ts"
import { API_SERVICES, NAMESPACES, refOf } from "./reading/kinds.ts"
import { USUAL_MS, within } from "./under-way.ts"

export const namespaceDoctor = doctor(NAMESPACES, async (namespace, ward) => {
  if (namespace.metadata.deletionTimestamp === undefined) return healthy("is active")
  const since = parseTime(namespace.metadata.deletionTimestamp) ?? ward.reader.now
  const summary = `is being deleted, for ${humanDuration(ward.reader.now - since)}`
  const findings = [
    ...(await discoveryFindings(namespace, ward)),
    ...(await refusedDeletions(namespace, ward)),
    ...(await remaining(namespace, ward)),
  ]
  return unwell(
    summary,
    findings.length > 0
      ? findings
      : [
          within(
            finding("being-deleted", "its objects are being deleted", {
              weight: "waiting",
              evidence: messages(namespace),
            }),
            ward.reader.now,
            since,
            USUAL_MS,
          ),
        ],
  )
})

const messages = ({ status }: Namespace): readonly string[] =>
  (status.conditions ?? [])
    .filter((one) => one.status === "True" && one.message !== undefined)
    .map(({ type, message = "" }) => `${type}: ${message}`)

/** An extension server that does not answer keeps every namespace: nobody knows whether it has objects there. */
async function discoveryFindings(namespace: Namespace, ward: Ward): Promise<readonly Finding[]> {
  const failed = (namespace.status.conditions ?? []).find(
    ({ type, status }) => type === "NamespaceDeletionDiscoveryFailure" && status === "True",
  )
  if (failed === undefined) return []
  const services = (await ward.reader.list(API_SERVICES)).filter(({ status }) =>
    status.conditions?.some((one) => one.type === "Available" && one.status !== "True"),
  )
  const behind: Finding[] = []
  for (const service of services) for (const one of (await askThrough(ward, refOf(service))).findings) behind.push(one)
  return behind.length > 0
    ? behind
    : [
        finding("discovery-failed", `what is in it cannot be found out: ${failed.message ?? ""}`, {
          evidence: messages(namespace),
        }),
      ]
}

/** Returns who refuses that the objects of a namespace are deleted. */
async function refusedDeletions({ metadata, status }: Namespace, ward: Ward): Promise<readonly Finding[]> {
  const failed = (status.conditions ?? []).find(
    ({ type, status: is }) => type === "NamespaceDeletionContentFailure" && is === "True",
  )
  if (failed === undefined) return []
  const { message = "" } = failed
  const evidence = [`NamespaceDeletionContentFailure: ${message}`]
  const within = { apiVersion: "v1", kind: "Namespace", metadata: { namespace: metadata.name ?? "" } }
  const known = await refusalFinding(message, within, "the deletion of its objects", evidence, ward)
  return [known ?? finding("deletion-failed", `its objects cannot be deleted: ${message}`, { evidence })]
}

/** Returns which objects hold a namespace. */
async function remaining(namespace: Namespace, ward: Ward): Promise<readonly Finding[]> {
  const content = (namespace.status.conditions ?? []).find(
    ({ type, status }) => type === "NamespaceContentRemaining" && status === "True",
  )
  const findings: Finding[] = []
  const served = await ward.reader.served()
  for (const part of (content?.message ?? "").replace(/^[^:]*: /, "").split(", ")) {
    const [, plural, group = ""] = /^([a-z0-9]+)\.(\S*) has \d+ resource/.exec(part) ?? []
    const kind = served.find(
      (one) => one.plural === plural && (one.apiVersion.includes("/") ? one.apiVersion.split("/")[0] : "") === group,
    )
    for (const object of kind === undefined
      ? []
      : ((await ward.reader.listIfAllowed(kind, namespace.metadata.name)) ?? []).slice(0, 3))
      for (const one of (await askThrough(ward, refOf(object))).findings) findings.push(one)
  }
  return findings
}
