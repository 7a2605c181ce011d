import { expect, spyOn, test } from "bun:test"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { ResourceQuota } from "../../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import type { StorageEvent } from "../../../../pkg/storage/storage.ts"
import { Objects } from "../../cacher/objects.ts"
import { handClock } from "../../cacher/hand-clock.fixtures.ts"
import { storageKey } from "../../cacher/view.ts"
import type { AdmissionAttributes } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { resourceQuota } from "./resourcequota.ts"

/** A namespace with a quota of ConfigMaps. The plugin sees the events of the store as `shown` returns them. */
async function stage(room: number, shown = (event: StorageEvent) => event) {
  const { clock } = handClock()
  const storage = new MemoryStorage({ clock, frozen: true })
  const subscribe = storage.subscribe.bind(storage)
  storage.subscribe = (listener, prefixes) => subscribe((events) => listener(events.map(shown)), prefixes)
  const store = (resource: Resource, object: KubeObject) =>
    storage.write({ key: storageKey(resource, object.metadata), object, expected: 0, time: clock.now(), author: "u" })
  await store(
    ResourceQuota as Resource,
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "default" },
      spec: { hard: { configmaps: String(room) } },
    } as KubeObject,
  )
  const plugin = resourceQuota({ objects: new Objects(storage), storage, clock } as unknown as AdmissionContext)
  const coming = (name: string): AdmissionAttributes => ({
    operation: "CREATE",
    resource: ConfigMap,
    subresource: undefined,
    namespace: "default",
    name,
    user: { name: "u", groups: [] },
    options: {},
    old: undefined,
    warn() {},
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", uid: name } },
  })
  const admit = async (attributes: AdmissionAttributes) => plugin.validate!(attributes)
  return { storage, store, plugin, coming, admit }
}

test("an object counts against the quota while it is being written, and is not counted twice once it is stored", async () => {
  // given
  const { store, coming, admit } = await stage(2)
  // when one is in the store already, and whoever wrote it has not said so yet
  const first = coming("a")
  await admit(first)
  await store(ConfigMap as Resource, first.object!)
  // then there is room for one more, and no further
  await admit(coming("b"))
  await expect(admit(coming("c"))).rejects.toThrow(
    "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2",
  )
})

test("objects that were counted before are not read again for the next one", async () => {
  // given
  const { storage, store, plugin, coming, admit } = await stage(100)
  const list = spyOn(storage, "list")
  // when
  for (let i = 0; i < 20; i++) {
    const attributes = coming(`c${i}`)
    await admit(attributes)
    await store(ConfigMap as Resource, attributes.object!)
    plugin.settled!(attributes, true)
  }
  // then
  const lists = list.mock.calls.filter(([prefix]) => prefix === "/registry/core/configmaps/default/")
  expect(lists).toHaveLength(1)
})

test("a quota that was deleted is counted anew when it comes back", async () => {
  // given a quota that was counted
  const { storage, store, plugin, coming, admit } = await stage(100)
  const list = spyOn(storage, "list")
  const lists = () => list.mock.calls.filter(([prefix]) => prefix === "/registry/core/configmaps/default/").length
  const key = storageKey(ResourceQuota, { namespace: "default", name: "q" })
  const quota = storage.get(key)!.object
  const write = async (name: string) => {
    const attributes = coming(name)
    await admit(attributes)
    plugin.settled!(attributes, false)
  }
  await write("a")
  // when
  await storage.write({ key, object: null, expected: undefined, time: 0, author: "u" })
  await store(ResourceQuota as Resource, quota)
  await write("b")
  // then nothing of it was kept
  expect(lists()).toBe(2)
})

test("an object that cannot be read when it is written counts as soon as it can be", async () => {
  // given a quota that was counted
  const unreadable = (event: StorageEvent): StorageEvent => ({
    ...event,
    stored: {
      ...event.stored,
      get object(): KubeObject {
        throw new Error("encrypted with a key that is not here yet")
      },
    },
  })
  const { store, plugin, coming, admit } = await stage(1, (event) =>
    event.key.endsWith("/b") ? unreadable(event) : event,
  )
  const first = coming("a")
  await admit(first)
  plugin.settled!(first, false)
  // when
  await store(ConfigMap as Resource, coming("b").object!)
  // then
  await expect(admit(coming("c"))).rejects.toThrow("used: configmaps=1, limited: configmaps=1")
})
