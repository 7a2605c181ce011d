import type { Ingress } from "../../api/networking/v1/ingress.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding } from "../answer.ts"
import { askThrough, doctor, healthy, unwell, type Ward } from "../doctor.ts"
import { recentEvents } from "../events.ts"
import { INGRESS_CLASSES, INGRESSES, refOf, SECRETS, SERVICES } from "../reading/kinds.ts"
import { pathConflictFinding } from "./ingress-conflict.ts"
import { certificateFinding } from "../policy/certificate.ts"
import { wordsOf } from "../workload.ts"
import { command } from "../command.ts"
import { changedAt, USUAL_MS, within } from "../under-way.ts"

const DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"

export const ingressDoctor = doctor(INGRESSES, async (ingress, ward) => {
  const classes = await classFindings(ingress, ward)
  const findings = [...classes, ...(await backendFindings(ingress, ward)), ...(await tlsFindings(ingress, ward))]
  const addresses = (ingress.status.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "")
  const summary = addresses.length === 0 ? "has no address" : `has address ${addresses.join(", ")}`
  if (findings.length > 0) return unwell(summary, findings)
  const events = await recentEvents(ward.reader, ingress, ["Warning"])
  const conflict = await pathConflictFinding(ingress, events, ward)
  if (conflict !== undefined) return unwell(summary, [conflict])
  if (addresses.length > 0) return healthy(summary, events.length === 0 ? [] : [warning(events, "note")])
  if (events.length > 0) return unwell(summary, [warning(events, "broken")])
  const pending = finding(
    "ingress-pending",
    "it has no address; perhaps the controller of its class does not run, or has not looked at it yet",
    { sure: false, weight: "waiting" },
  )
  return unwell(summary, [within(pending, ward.reader.now, changedAt(ingress), USUAL_MS)])
})

const warning = (events: readonly string[], weight: Finding["weight"]): Finding =>
  finding("ingress-warning", `its controller says: ${events[0]!}`, { evidence: events, weight })

async function classFindings(ingress: Ingress, ward: Ward): Promise<readonly Finding[]> {
  const classes = await ward.reader.list(INGRESS_CLASSES)
  const names = classes.map(({ metadata }) => metadata.name ?? "")
  const wanted = ingress.spec.ingressClassName ?? ingress.metadata.annotations?.["kubernetes.io/ingress.class"]
  const set = (name: string) =>
    mend(
      command`kubectl patch ${wordsOf(refOf(ingress))} --type=merge -p ${JSON.stringify({ spec: { ingressClassName: name } })}`,
      `has the controller of class ${name} serve it`,
    )
  if (wanted === undefined) {
    if (classes.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true")) return []
    return [
      finding(
        "ingress-class-missing",
        `it names no class, and the cluster has no default one: nobody serves it${names.length === 0 ? "" : `; there are ${names.join(", ")}`}`,
        { mends: names.length === 1 ? [set(names[0]!)] : [] },
      ),
    ]
  }
  if (names.includes(wanted)) return []
  // Controllers may serve a name that no IngressClass has, if it is in the older annotation.
  if (ingress.spec.ingressClassName === undefined) return []
  const near = nearest(wanted, names)
  return [
    finding(
      "ingress-class-missing",
      `IngressClass ${wanted} does not exist: nobody serves it${names.length === 0 ? "" : `; there are ${names.join(", ")}`}`,
      { mends: near !== undefined ? [set(near)] : names.length === 1 ? [set(names[0]!)] : [] },
    ),
  ]
}

/** An Ingress may have thousands of backends: so many faults of them are told. */
const MOST_FAULTS = 20

async function backendFindings(ingress: Ingress, ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "" } = ingress.metadata
  const backends = [
    ...(ingress.spec.defaultBackend === undefined
      ? []
      : [{ at: "its default backend", backend: ingress.spec.defaultBackend }]),
    ...(ingress.spec.rules ?? []).flatMap(({ host = "", http }) =>
      (http?.paths ?? []).map(({ path = "/", backend }) => ({ at: `${host}${path}`, backend })),
    ),
  ]
  const findings: Finding[] = []
  const seen = new Set<string>()
  for (const { at, backend } of backends) {
    if (findings.length >= MOST_FAULTS) break
    const { service } = backend
    if (service === undefined) continue
    const { name, port } = service
    const found = await ward.reader.get(SERVICES, namespace, name)
    if (found === undefined) {
      const services = (await ward.reader.listIfAllowed(SERVICES, namespace)) ?? []
      const near = nearest(
        name,
        services.map(({ metadata }) => metadata.name ?? ""),
      )
      findings.push(
        finding(
          "ingress-service-missing",
          `${at} leads to Service ${name}, which does not exist in namespace ${namespace}` +
            (near === undefined ? await elsewhere(name, ward) : `; there is ${near}`),
        ),
      )
      continue
    }
    const ports = found.spec.ports ?? []
    if (port !== undefined && !ports.some((one) => (port.name ? one.name === port.name : one.port === port.number))) {
      findings.push(
        finding(
          "ingress-service-port",
          `${at} leads to port ${port.name ?? port.number} of Service ${name}, which has ${ports.map((one) => (one.name === undefined ? one.port : `${one.name} (${one.port})`)).join(", ")}`,
        ),
      )
      continue
    }
    if (seen.has(name)) continue
    seen.add(name)
    for (const one of (await askThrough(ward, refOf(found))).findings) findings.push(one)
  }
  return findings
}

/** Says where a Service of this name is: an Ingress leads to those of its own namespace only. */
async function elsewhere(name: string, { reader }: Ward): Promise<string> {
  const [other] = ((await reader.listIfAllowed(SERVICES)) ?? []).filter(({ metadata }) => metadata.name === name)
  return other === undefined
    ? ""
    : `, but in ${other.metadata.namespace}: an Ingress leads to Services of its own namespace only`
}

async function tlsFindings(ingress: Ingress, ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "" } = ingress.metadata
  const findings: Finding[] = []
  for (const { secretName, hosts = [] } of ingress.spec.tls ?? []) {
    if (!secretName) continue
    const secret = await ward.reader.get(SECRETS, namespace, secretName).catch(() => null)
    if (secret === null) continue
    if (secret === undefined)
      findings.push(
        finding(
          "secret-missing",
          `Secret ${secretName} with the certificate of ${hosts.join(", ")} does not exist in namespace ${namespace}`,
          {
            hints: [command`kubectl create secret tls ${secretName} -n ${namespace} --cert=FILE --key=FILE`],
          },
        ),
      )
    else {
      const bad = certificateFinding(secret, ward.reader.now, hosts)
      if (bad !== undefined) findings.push(bad)
    }
  }
  return findings
}
