import { isConflict } from "../../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject, KubeObjectInput, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Key } from "../../../../pkg/client/informer.ts"
import { timestamp } from "../../../../pkg/clock/clock.ts"
import { defineController, type Controller } from "../../../../pkg/controller/controller.ts"
import { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../../pkg/gateway-api/gatewayclass.ts"
import type { HTTPRoute } from "../../../../pkg/gateway-api/httproute.ts"
import { GATEWAY_CONTROLLER } from "../../../../pkg/gateway-api/k3ts-class.ts"
import { conditionsOf, fails, holds, type Condition } from "./conditions.ts"
import { SUPPORTED_FEATURES } from "./features.ts"
import type { StatusTurn } from "../../status/status-turn.ts"
import { kindText, type GatewayReport, type Generation, type RouteReport } from "./reports.ts"

type Turn = Pick<StatusTurn, "isOurs">

/** An object whose status this controller writes. */
interface WithStatus extends KubeObject {
  readonly status?: unknown
}

/**
 * Returns a controller that writes the status that `wanted` returns, if it differs from the stored one, while it is
 * this server's turn. Undefined leaves the status unchanged.
 */
function statusWriter<T extends WithStatus>(
  resource: Resource<T>,
  turn: Turn,
  wanted: (object: T, key: Key, now: string) => unknown,
): Controller<T> {
  return defineController<T>({
    name: `gateway-${resource.plural}`,
    reconciles: resource,
    async reconcile(key, { informers, client, clock }) {
      const object = informers.of(resource).get(key)
      if (!turn.isOurs || object === undefined || object.metadata.deletionTimestamp !== undefined) return
      const status = wanted(object, key, timestamp(clock))
      if (status === undefined || deepEqual(status, object.status ?? {})) return
      try {
        await client.updateStatus(resource as unknown as Resource<T, KubeObjectInput>, { ...object, status } as never)
      } catch (err) {
        // The informer delivers the newer object, which is reconciled again.
        if (!isConflict(err)) throw err
      }
    },
  })
}

/** Writes the condition Accepted and the supported features of this controller's GatewayClasses. */
export const classStatus = (turn: Turn): Controller<GatewayClass> =>
  statusWriter<GatewayClass>(GatewayClass, turn, ({ metadata, spec, status }, _key, now) => {
    if (spec.controllerName !== GATEWAY_CONTROLLER) return undefined
    const accepted =
      spec.parametersRef === undefined
        ? holds("Accepted", "Accepted")
        : fails("Accepted", "InvalidParameters", "spec.parametersRef: this controller takes no parameters")
    return {
      ...status,
      conditions: conditionsOf([accepted], status?.conditions ?? [], metadata.generation ?? 0, now),
      supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name })),
    }
  })

export const gatewayStatus = (
  turn: Turn,
  reports: (key: Key) => Generation<GatewayReport> | undefined,
): Controller<Gateway> =>
  statusWriter<Gateway>(Gateway, turn, ({ metadata, status }, key, now) => {
    const known = reports(key)
    // The proxy has not yet translated this generation; the status is written after it has.
    if (known === undefined || known.generation !== metadata.generation) return undefined
    const { addresses, conditions, listeners } = known.report
    const of = (list: GatewayReport["conditions"], present: readonly Condition[] = []) =>
      conditionsOf(list, present, known.generation, now)
    return {
      ...(addresses.length === 0 ? {} : { addresses: addresses.map((value) => ({ type: "IPAddress", value })) }),
      conditions: of(conditions, status?.conditions),
      listeners: listeners.map(({ name, kinds, attachedRoutes, conditions: own }) => ({
        name,
        supportedKinds: kinds.map(kindText),
        attachedRoutes,
        conditions: of(own, status?.listeners?.find((listener) => listener.name === name)?.conditions),
      })),
    }
  })

/** A route of any kind: the statuses of all kinds have the same shape. */
type Route = KubeObject & Pick<HTTPRoute, "status">

/** Writes the parents of this controller into `status.parents`, and keeps the entries of other controllers. */
export const routeStatus = <T extends Route>(
  resource: Resource<T>,
  turn: Turn,
  reports: (key: Key) => Generation<RouteReport> | undefined,
): Controller<T> =>
  statusWriter<T>(resource, turn, ({ metadata, status }, key, now) => {
    const present = status?.parents ?? []
    const known = reports(key)
    if (known !== undefined && known.generation !== metadata.generation) return undefined
    const others = present.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER)
    const own = (known?.report ?? []).map(({ ref, conditions }) => {
      const before = present.find(
        ({ controllerName, parentRef }) => controllerName === GATEWAY_CONTROLLER && deepEqual(parentRef, ref),
      )
      return {
        parentRef: ref,
        controllerName: GATEWAY_CONTROLLER,
        conditions: conditionsOf(conditions, before?.conditions ?? [], metadata.generation ?? 0, now),
      }
    })
    return own.length === 0 && others.length === present.length ? undefined : { parents: [...others, ...own] }
  })
