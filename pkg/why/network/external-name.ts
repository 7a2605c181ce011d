import type { Service } from "../../api/core/v1/service/service.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, type Finding, type Opinion } from "../answer.ts"
import { askThrough, healthy, unwell, type Ward } from "../doctor.ts"
import { refOf, SERVICES } from "../reading/kinds.ts"

/** Returns how a Service is that is only another name. What is outside of the cluster is not known. */
export async function externalNameOpinion({ spec }: Service, ward: Ward): Promise<Opinion> {
  const target = (spec.externalName ?? "").replace(/\.$/, "")
  const summary = `is another name of ${target}`
  if (/^\d+(?:\.\d+){3}$/.test(target))
    return unwell(summary, [
      finding(
        "external-name-address",
        `its externalName ${target} is an address: DNS answers with it as a name, which does not resolve`,
        { hints: ["make it a Service without a selector, and write an EndpointSlice with the address"] },
      ),
    ])
  const [name = "", namespace = "", svc] = target.split(".")
  if (svc !== "svc") return healthy(summary)
  const services = await ward.reader.listIfAllowed(SERVICES, namespace)
  if (services === undefined) return healthy(summary)
  const found = services.find(({ metadata }) => metadata.name === name)
  const findings = found === undefined ? [missing(name, namespace, services)] : []
  if (found !== undefined) for (const one of (await askThrough(ward, refOf(found))).findings) findings.push(one)
  return findings.length === 0 ? healthy(summary) : unwell(summary, findings)
}

function missing(name: string, namespace: string, services: readonly Service[]): Finding {
  const near = nearest(
    name,
    services.map(({ metadata }) => metadata.name ?? ""),
  )
  return finding(
    "external-name-missing",
    `Service ${namespace}/${name}, whose name it stands for, does not exist` +
      (near === undefined ? "" : `; there is ${near}`),
  )
}
