import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { isAlreadyExists, isConflict } from "../../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Informer } from "../../../../pkg/client/informer.ts"
import { GatewayClass } from "../../../../pkg/gateway-api/gatewayclass.ts"
import {
  BUNDLE_VERSION,
  GATEWAY_CONTROLLER,
  GATEWAY_GROUP,
  K3TS_GATEWAY_CLASS,
  MANAGED_BY,
  MANAGER,
  WRITTEN_BY,
} from "../../../../pkg/gateway-api/k3ts-class.ts"
import { version } from "../../../../pkg/version/version.ts"

/** The Gateway API releases of the definitions that versions of this program have installed. */
const OWN_BUNDLES: readonly string[] = ["v1.6.1"]

/**
 * Updates Gateway API definitions that another version of this program installed. The API server creates them with the
 * first start. Definitions of other installers are left alone, and so are definitions over which another release was
 * applied.
 */
export async function updateDefinitions(
  client: Client,
  definitions: Pick<Informer<CustomResourceDefinition>, "list">,
): Promise<void> {
  const outdated = definitions
    .list()
    .filter(
      ({ metadata, spec }) =>
        spec.group === GATEWAY_GROUP &&
        metadata.labels?.[MANAGED_BY] === MANAGER &&
        OWN_BUNDLES.includes(metadata.annotations?.[BUNDLE_VERSION] ?? "") &&
        metadata.annotations?.[WRITTEN_BY] !== version,
    )
  if (outdated.length === 0) return
  const { DEFINITIONS } = await import("../../../../pkg/gateway-api/definitions.ts")
  for (const before of outdated) {
    const now = DEFINITIONS.find(({ metadata }) => metadata.name === before.metadata.name)
    if (now === undefined) continue
    const { labels, annotations } = now.metadata
    const metadata = {
      ...before.metadata,
      labels: { ...before.metadata.labels, ...labels },
      annotations: { ...before.metadata.annotations, ...annotations },
    }
    try {
      await client.update(CustomResourceDefinition, { ...now, metadata } as unknown as CustomResourceDefinition)
    } catch (err) {
      // Another client has changed the definition: the next start checks it again.
      if (!isConflict(err)) throw err
    }
  }
}

/** Creates the class `k3ts` unless a class of this controller exists. */
export async function installClass(client: Client, classes: readonly GatewayClass[]): Promise<void> {
  if (classes.some(({ spec }) => spec.controllerName === GATEWAY_CONTROLLER)) return
  try {
    await client.create(GatewayClass, K3TS_GATEWAY_CLASS)
  } catch (err) {
    if (!isAlreadyExists(err)) throw err
  }
}
