/** Objects that belong to the node of the identities and to another one, for what a kubelet may see and change. */
import { type Identities, NAMESPACE, NODE } from "./identities.ts"

export const OTHER_NODE = "node-b"
export const CORE = `/api/v1/namespaces/${NAMESPACE}`
export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
export const STORAGE = "/apis/storage.k8s.io/v1"
export const SLICES = "/apis/resource.k8s.io/v1/resourceslices"
export const slice = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { driver: "gpu.test", nodeName, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 } },
})
const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
const VOLUME = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] }
const attachment = (name: string, nodeName: string) => ({
  metadata: { name },
  spec: { attacher: "csi.test", nodeName, source: { persistentVolumeName: "v" } },
})
/** A volume that belongs to a claim, with a secret for mounting and one that is none of a kubelet's. */
const volume = (name: string, claim: string | undefined) => ({
  metadata: { name },
  spec: {
    ...VOLUME,
    csi: {
      driver: "csi.test",
      volumeHandle: name,
      nodePublishSecretRef: { namespace: NAMESPACE, name: `mounting-${name}` },
      controllerPublishSecretRef: { namespace: NAMESPACE, name: `attaching-${name}` },
    },
    ...(claim === undefined ? {} : { claimRef: { namespace: NAMESPACE, name: claim } }),
  },
})

/**
 * Makes, beside the node and the pod of the identities: a node `node-b` with a pod `there`, and on the own node a pod
 * `here`, which uses an object of each kind in one way or another, and a pod `liar`, which claims a volume that belongs
 * to another claim. Gives the uid of `here`.
 */
export async function makeNodeObjects({ administrator }: Identities): Promise<string> {
  const create = async (path: string, body: object) => {
    const answer = await administrator.request("POST", path, { body })
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.body.toString()}`)
    return JSON.parse(answer.body.toString()) as { metadata: { uid: string } }
  }
  await create("/api/v1/nodes", { metadata: { name: OTHER_NODE } })
  for (const name of ["theirs", "user"]) await create(`${CORE}/serviceaccounts`, { metadata: { name } })
  await create(`${CORE}/pods`, {
    metadata: { name: "there" },
    spec: { nodeName: OTHER_NODE, serviceAccountName: "theirs", containers: [{ name: "c", image: "registry.test/c" }] },
  })
  // A pod on the node that uses one object of each kind, in one way or another.
  const from = (name: string) => ({ name, key: "k" })
  const here = await create(`${CORE}/pods`, {
    metadata: { name: "here" },
    spec: {
      nodeName: NODE,
      serviceAccountName: "user",
      imagePullSecrets: [{ name: "pull" }],
      initContainers: [
        {
          name: "i",
          image: "registry.test/c",
          envFrom: [{ secretRef: { name: "init" } }, { configMapRef: { name: "init" } }],
        },
      ],
      containers: [
        {
          name: "c",
          image: "registry.test/c",
          env: [
            { name: "A", valueFrom: { secretKeyRef: from("variable") } },
            { name: "B", valueFrom: { configMapKeyRef: from("variable") } },
          ],
        },
      ],
      volumes: [
        { name: "s", secret: { secretName: "mounted" } },
        { name: "c", configMap: { name: "mounted" } },
        {
          name: "p",
          projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "projected" } }] },
        },
        { name: "csi", csi: { driver: "csi.test", nodePublishSecretRef: { name: "inline" } } },
        { name: "v", persistentVolumeClaim: { claimName: "used" } },
        { name: "e", ephemeral: { volumeClaimTemplate: { spec: CLAIM } } },
      ],
    },
  })
  // The controller creates the claim of the ephemeral volume.
  for (const name of ["used", "unused"])
    await create(`${CORE}/persistentvolumeclaims`, { metadata: { name }, spec: CLAIM })
  while ((await administrator.request("GET", `${CORE}/persistentvolumeclaims/here-e`)).status !== 200);
  await create("/api/v1/persistentvolumes", volume("mine", "used"))
  await create("/api/v1/persistentvolumes", volume("theirs", "unused"))
  await create("/api/v1/persistentvolumes", volume("free", undefined))
  // Anybody may write a claim that names a volume: what counts is what the volume says.
  await create(`${CORE}/persistentvolumeclaims`, {
    metadata: { name: "liar" },
    spec: { ...CLAIM, volumeName: "theirs" },
  })
  await create(`${CORE}/pods`, {
    metadata: { name: "liar" },
    spec: {
      nodeName: NODE,
      serviceAccountName: "user",
      containers: [{ name: "c", image: "registry.test/c" }],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "liar" } }],
    },
  })
  await create(`${STORAGE}/volumeattachments`, attachment("mine", NODE))
  await create(`${STORAGE}/volumeattachments`, attachment("theirs", OTHER_NODE))
  await create(`${STORAGE}/csinodes`, { metadata: { name: OTHER_NODE }, spec: { drivers: [] } })
  await create(SLICES, slice("mine", NODE))
  await create(SLICES, slice("theirs", OTHER_NODE))
  await create(LEASES, { metadata: { name: OTHER_NODE } })
  return here.metadata.uid
}

/** A query that selects by a field. */
export const selecting = (field: string, value: string) => `fieldSelector=${encodeURIComponent(`${field}=${value}`)}`
