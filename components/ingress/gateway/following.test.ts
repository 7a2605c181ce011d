import { expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Informer, Informers } from "../../../pkg/client/informer.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { DEFINITIONS } from "../../../pkg/gateway-api/definitions.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
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

test.each([
  { title: "Gateways", start: (context: ComponentContext) => Following.start(context, () => undefined) },
  {
    title: "routes",
    start: async (context: ComponentContext) => FollowedRoutes.start(context, servedKinds(context), () => undefined),
  },
])("a watch of $title that fails to start, at whatever step, leaves no handler behind", async ({ start }) => {
  // given
  await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const definitions = DEFINITIONS as unknown as readonly CustomResourceDefinition[]
  for (const each of definitions) await cluster.client.create(CustomResourceDefinition, each)
  const context = cluster.contextFor("test", ["system:masters"])
  const known = context.informers.of(CustomResourceDefinition)
  await cluster.eventually(() => serves(known, "gateways", "v1") && serves(known, "tlsroutes", "v1"))

  for (let step = 0; ; step++) {
    const given = failingAt(step, context.informers)
    // when
    const started = await start({ ...context, informers: given.informers }).catch((err: Error) => err)
    // then
    if (started instanceof Error) {
      expect(started.message).toBe("there is no such informer")
      expect(given.handlers()).toBe(0)
      continue
    }
    expect(given.handlers()).toBeGreaterThan(3)
    await started.stop()
    expect(given.handlers()).toBe(0)
    expect(step).toBeGreaterThan(5)
    return
  }
})
