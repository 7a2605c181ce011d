import { expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Informer, Informers } from "../../../../pkg/client/informer.ts"
import type { ComponentContext } from "../../../../pkg/component/component.ts"
import { DEFINITIONS } from "../../../../pkg/gateway-api/definitions.ts"
import { startCluster } from "../../../cluster/testing/cluster.ts"
import { FollowedRoutes, servedKinds } from "./followed-routes.ts"
import { Following } from "./following.ts"
import { serves } from "./served-kinds.ts"

/** Returns informers that fail at one call, and that count the handlers which are registered. */
function failingAt(failure: number, informers: Informers) {
  let calls = 0
  let handlers = 0
  const counted = (informer: Informer<never>) =>
    new Proxy(informer, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown
        if (typeof value !== "function") return value
        return (...args: unknown[]) => {
          const returned = value.apply(target, args) as unknown
          if (name !== "on") return returned
          handlers++
          return () => {
            handlers--
            ;(returned as () => void)()
          }
        }
      },
    })
  const failing = {
    ...informers,
    of(resource: never) {
      if (calls++ === failure) throw new Error("there is no such informer")
      return counted(informers.of(resource))
    },
  } as Informers
  return { informers: failing, handlers: () => handlers }
}

const TURN = { isOurs: true }
const GATEWAYS = (context: ComponentContext) => Following.start(context, () => undefined, TURN)
const ROUTES = async (context: ComponentContext) =>
  FollowedRoutes.start(context, servedKinds(context), () => undefined, TURN)

/** Starts a cluster that serves Gateway API. Returns the context of a component, too. */
async function serving() {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const definitions = DEFINITIONS as unknown as readonly CustomResourceDefinition[]
  for (const each of definitions) await cluster.client.create(CustomResourceDefinition, each)
  const context = cluster.contextFor("test", ["system:masters"])
  const known = context.informers.of(CustomResourceDefinition)
  await cluster.eventually(() => serves(known, "gateways", "v1") && serves(known, "tlsroutes", "v1"))
  return { cluster, context, [Symbol.asyncDispose]: () => cluster.stop() }
}

test.each([
  { title: "Gateways", start: GATEWAYS },
  { title: "routes", start: ROUTES },
])("a watch of $title that fails at any step of its start leaves no handler behind", async ({ start }) => {
  // given
  await using given = await serving()
  const { context } = given

  for (let step = 0; ; step++) {
    const informed = failingAt(step, context.informers)
    // when
    const started = await start({ ...context, informers: informed.informers }).catch((err: Error) => err)
    // then
    if (started instanceof Error) {
      expect(started.message).toBe("there is no such informer")
      expect(informed.handlers()).toBe(0)
      continue
    }
    expect(informed.handlers()).toBeGreaterThan(3)
    await started.stop()
    expect(informed.handlers()).toBe(0)
    expect(step).toBeGreaterThan(5)
    return
  }
})

test.each([
  { title: "Gateways", start: GATEWAYS, plural: "gateways" },
  { title: "routes", start: ROUTES, plural: "tlsroutes" },
])("a watch of $title that starts while a definition is being deleted fails at once", async (given) => {
  // given
  await using served = await serving()
  const { cluster, context } = served
  await using _slow = await cluster.faults.requests({ resource: given.plural, verb: "list", delay: "1h" })
  const starting = given.start(context).catch((err: Error) => err.message)
  // when
  await cluster.client.delete(CustomResourceDefinition, { name: `${given.plural}.gateway.networking.k8s.io` })
  // then
  expect(await starting).toBe("the definitions of Gateway API have changed")
})
