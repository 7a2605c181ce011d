import type { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Informer } from "../../../../pkg/client/informer.ts"
import { GATEWAY_GROUP } from "../../../../pkg/gateway-api/k3ts-class.ts"

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

/** Returns whether Gateways can be followed. */
export const servesGateways = (definitions: Pick<Informer<CustomResourceDefinition>, "get">): boolean =>
  serves(definitions, "gatewayclasses", "v1") && serves(definitions, "gateways", "v1")

/**
 * Returns the result of `work`, which waits for informers. @throws Error when `isServed` turns false meanwhile: the
 * informer of a kind that is not served waits until it is served again, and with it all routes and Ingresses would
 */
export async function whileServed<T>(
  definitions: Pick<Informer<CustomResourceDefinition>, "on">,
  isServed: () => boolean,
  work: Promise<T>,
): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const check = () => {
    if (!isServed()) ended.reject(new Error("the definitions of Gateway API have changed"))
  }
  const off = definitions.on({ updated: check, deleted: check })
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    off()
  }
}
