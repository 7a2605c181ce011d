import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { isAlreadyExists, isConflict } from "../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { GatewayClass } from "../../../pkg/gateway-api/gatewayclass.ts"
import { GATEWAY_CONTROLLER, GATEWAY_GROUP, K3TS_GATEWAY_CLASS } from "../../../pkg/gateway-api/k3ts-class.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { version } from "../../../pkg/version/version.ts"

export interface InstallParts {
  readonly client: Client
  readonly definitions: Pick<Informer<CustomResourceDefinition>, "list">
  readonly log: Logger
}

/** The release of Gateway API whose kinds these are, of its standard channel. */
const BUNDLE = "v1.6.1"
const MANAGED_BY = "app.kubernetes.io/managed-by"
const MANAGER = "k3ts"
/** The version of this program that wrote a definition. */
const WRITTEN_BY = "k3ts.dev/version"

/**
 * Creates the definitions of Gateway API where the cluster has none, and brings those that an earlier version of this
 * program has made up to date. Definitions of others are left alone, and then nothing is added to them.
 */
export async function installDefinitions({ client, definitions, log }: InstallParts): Promise<void> {
  const present = definitions.list().filter(({ spec }) => spec.group === GATEWAY_GROUP)
  if (present.some(({ metadata }) => metadata.labels?.[MANAGED_BY] !== MANAGER)) {
    log.debug("The definitions of Gateway API belong to another owner")
    return
  }
  if (present.length > 0 && present.every(({ metadata }) => metadata.annotations?.[WRITTEN_BY] === version)) return
  const { DEFINITIONS } = await import("../../../pkg/gateway-api/definitions.ts")
  for (const { metadata, ...definition } of DEFINITIONS) {
    const before = present.find((one) => one.metadata.name === metadata.name)
    const object = {
      ...definition,
      metadata: {
        ...before?.metadata,
        name: metadata.name,
        labels: { ...before?.metadata.labels, [MANAGED_BY]: MANAGER },
        annotations: {
          ...before?.metadata.annotations,
          "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api",
          "gateway.networking.k8s.io/bundle-version": BUNDLE,
          "gateway.networking.k8s.io/channel": "standard",
          [WRITTEN_BY]: version,
        },
      },
    } as unknown as CustomResourceDefinition
    try {
      if (before === undefined) await client.create(CustomResourceDefinition, object)
      else await client.update(CustomResourceDefinition, object)
    } catch (err) {
      // Somebody else has been faster: the definition is theirs.
      if (!isAlreadyExists(err) && !isConflict(err)) throw err
    }
  }
  log.debug("Installed the definitions of Gateway API", { bundle: BUNDLE })
}

/** Creates the class `k3ts` unless there is a class of this controller. */
export async function installClass(client: Client, classes: readonly GatewayClass[]): Promise<void> {
  if (classes.some(({ spec }) => spec.controllerName === GATEWAY_CONTROLLER)) return
  try {
    await client.create(GatewayClass, K3TS_GATEWAY_CLASS)
  } catch (err) {
    if (!isAlreadyExists(err)) throw err
  }
}
