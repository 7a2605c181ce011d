import type { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { GATEWAY_GROUP } from "../../../pkg/gateway-api/k3ts-class.ts"

/** The plural names of the kinds that this controller watches. */
export const FOLLOWED_PLURALS = [
  "gatewayclasses",
  "gateways",
  "httproutes",
  "grpcroutes",
  "tlsroutes",
  "referencegrants",
] as const
export type Plural = (typeof FOLLOWED_PLURALS)[number]

/** Returns whether the cluster serves a version of a Gateway API kind. */
export function serves(
  definitions: Pick<Informer<CustomResourceDefinition>, "get">,
  plural: Plural,
  version: string,
): boolean {
  const definition = definitions.get(`${plural}.${GATEWAY_GROUP}`)
  return (
    definition !== undefined &&
    definition.metadata.deletionTimestamp === undefined &&
    (definition.status?.conditions ?? []).some(({ type, status }) => type === "Established" && status === "True") &&
    definition.spec.versions.some(({ name, served }) => name === version && served)
  )
}
