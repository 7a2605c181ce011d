import type { Pod } from "../../../api/core/v1/pod/pod.ts"
import type { ResourceClaimSpec } from "../../../api/resource/v1/deviceclaim.ts"
import { nearest } from "../../../names/suggest.ts"
import { finding, type Finding } from "../../answer.ts"
import type { Ward } from "../../doctor.ts"
import { DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, type Kind } from "../../reading/kinds.ts"

/** Returns which ResourceClaims, templates and DeviceClasses a pod names that do not exist. The scheduler says nothing of it. */
export async function deviceFindings({ spec, metadata }: Pod, ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "" } = metadata
  const findings: Finding[] = []
  for (const { name, resourceClaimName, resourceClaimTemplateName } of spec.resourceClaims ?? []) {
    const at = `resourceClaims ${name} of the pod`
    const found = resourceClaimName
      ? await ward.reader.get(RESOURCE_CLAIMS, namespace, resourceClaimName)
      : await ward.reader.get(RESOURCE_CLAIM_TEMPLATES, namespace, resourceClaimTemplateName ?? "")
    if (found === undefined) {
      const kind: Kind = resourceClaimName ? RESOURCE_CLAIMS : RESOURCE_CLAIM_TEMPLATES
      findings.push(await missing(kind, resourceClaimName ?? resourceClaimTemplateName ?? "", namespace, at, ward))
      continue
    }
    const wanted = "devices" in found.spec ? (found.spec as ResourceClaimSpec) : (found.spec as Template).spec
    for (const className of classesOf(wanted))
      if ((await ward.reader.get(DEVICE_CLASSES, undefined, className)) === undefined)
        findings.push(
          await missing(DEVICE_CLASSES, className, undefined, `${found.kind} ${found.metadata.name ?? ""}`, ward),
        )
  }
  return findings
}

interface Template {
  readonly spec?: ResourceClaimSpec
}

const classesOf = (spec: ResourceClaimSpec | undefined): readonly string[] => [
  ...new Set(
    (spec?.devices?.requests ?? []).flatMap(({ exactly, firstAvailable = [] }) =>
      [exactly, ...firstAvailable].flatMap((one) => (one?.deviceClassName ? [one.deviceClassName] : [])),
    ),
  ),
]

async function missing(
  kind: Kind,
  name: string,
  namespace: string | undefined,
  at: string,
  { reader }: Ward,
): Promise<Finding> {
  const there = ((await reader.listIfAllowed(kind, namespace)) ?? []).map(({ metadata }) => metadata.name ?? "")
  const near = nearest(name, there)
  return finding(
    `${kind.kind.toLowerCase()}-missing`,
    `${kind.kind} ${name}, which ${at} names, does not exist${namespace === undefined ? "" : ` in namespace ${namespace}`}` +
      (near === undefined ? "" : `; there is ${near}`),
  )
}
