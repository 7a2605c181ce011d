import type { CustomResourceDefinition } from "../../api/apiextensions/v1/customresourcedefinition.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { nameOf, type Finding } from "../answer.ts"
import { askThrough, type Ward } from "../doctor.ts"
import { refOf, refTo, SERVICES, type Kind } from "../reading/kinds.ts"

/** The finalizer with which the API server deletes the objects of a definition before the definition. */
export const CLEANUP = "customresourcecleanup.apiextensions.k8s.io"

/** As many of the objects are examined. */
const MOST = 3

/** Returns the objects of a definition; undefined where they cannot be read. */
async function objectsOf(definition: KubeObject, { reader }: Ward): Promise<readonly KubeObject[] | undefined> {
  const { spec } = definition as CustomResourceDefinition
  const version = spec.versions.find(({ storage }) => storage) ?? spec.versions[0]
  const kind: Kind = {
    apiVersion: `${spec.group}/${version?.name ?? ""}`,
    kind: spec.names.kind,
    plural: spec.names.plural,
    namespaced: spec.scope === "Namespaced",
    shortNames: [],
  }
  return reader.listIfAllowed(kind)
}

/** Returns why objects of a definition that is being deleted are still there. */
export async function heldObjectFindings(definition: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const object of ((await objectsOf(definition, ward)) ?? []).slice(0, MOST))
    for (const one of (await askThrough(ward, refOf(object))).findings) findings.push(one)
  return findings
}

/** Returns what is wrong with the Service that converts objects: without it only the stored version can be read. */
export async function conversionFindings(definition: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const { conversion, names } = (definition as CustomResourceDefinition).spec
  const service = conversion?.strategy === "Webhook" ? conversion.webhook?.clientConfig?.service : undefined
  if (service === undefined) return []
  const ref = refTo(SERVICES, service.namespace, service.name)
  return (await askThrough(ward, ref)).findings.map((one) => ({
    ...one,
    cause: {
      ...one.cause,
      evidence: [`${nameOf(ref)} converts ${names.plural} between versions`, ...one.cause.evidence],
    },
  }))
}

/** Says what a definition that is being deleted waits for. */
export async function cleanupSays(definition: KubeObject, ward: Ward): Promise<string> {
  const objects = await objectsOf(definition, ward)
  if (objects === undefined) return "its objects are deleted before it"
  const [first] = objects
  return first === undefined
    ? "it has no objects any more, so it will be removed"
    : `its ${objects.length} objects are deleted before it, such as ${nameOf(refOf(first))}`
}
