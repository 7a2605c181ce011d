/**
 * An operator: a control loop on ConfigMaps that copies every ConfigMap labelled `share=everywhere` into all
 * namespaces,
 * and takes the copies away when the original goes. operator.test.ts tests it in virtual time, and as the program that
 * config-sharing-main.ts makes of it.
 */
import {
  ConfigMap,
  defineController,
  isNotFound,
  Namespace,
  splitKey,
  type Client,
} from "../../pkg/operator/operator.ts"

export const SHARED = { share: "everywhere" }
const ORIGIN = "example.com/copied-from"
const isShared = (config: ConfigMap) => config.metadata.labels?.["share"] === SHARED.share

/** Receives a key and never an event, so it may run at any time and any number of times. */
export const sharing = defineController<ConfigMap>({
  name: "config-sharing",
  reconciles: ConfigMap,
  watches: [
    {
      resource: Namespace, // a new namespace wants all that is shared
      keys: (_namespace, { informers }) =>
        informers
          .of(ConfigMap)
          .list()
          .filter(isShared)
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
  ],
  async reconcile(key, { client, informers }) {
    const { namespace = "", name } = splitKey(key)
    const original = informers.of(ConfigMap).get(key)
    const copies = informers
      .of(ConfigMap)
      .list()
      .filter(({ metadata }) => metadata.annotations?.[ORIGIN] === key)
    if (original === undefined || !isShared(original)) {
      for (const { metadata } of copies) await remove(client, metadata)
      return
    }
    for (const { metadata } of informers.of(Namespace).list()) {
      if (metadata.name === namespace || metadata.deletionTimestamp !== undefined) continue
      const copy = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, annotations: { [ORIGIN]: key } },
        data: original.data,
      }
      await client.patch(
        ConfigMap,
        { namespace: metadata.name, name },
        { type: "apply", body: copy },
        { fieldManager: "config-sharing", force: true },
      )
    }
  },
})

async function remove(client: Client, ref: ConfigMap["metadata"]): Promise<void> {
  await client.delete(ConfigMap, ref).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}
