/** Mounts of single paths of volumes that the kubelet writes. After test/e2e/storage/subpath.go. */
import { expect } from "bun:test"
import { BUSYBOX, sh } from "../../harness/cluster.ts"
import { type PodSpec } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

type Volume = Omit<NonNullable<PodSpec["volumes"]>[number], "name">
const configMap: Volume = { configMap: { name: "my-configmap" } }
const rows: readonly {
  readonly title: string
  readonly subPath: string
  readonly volume: Volume
  readonly wants: string
  readonly mountPath?: string
}[] = [
  {
    title: "Subpath Atomic writer volumes should support subpaths with secret pod",
    subPath: "secret-key",
    volume: { secret: { secretName: "my-secret" } },
    wants: "secret-value",
  },
  {
    title: "Subpath Atomic writer volumes should support subpaths with configmap pod",
    subPath: "configmap-key",
    volume: configMap,
    wants: "configmap-value",
  },
  {
    title: "Subpath Atomic writer volumes should support subpaths with configmap pod with mountPath of existing file",
    subPath: "configmap-key",
    volume: configMap,
    wants: "configmap-value",
    mountPath: "/etc/resolv.conf",
  },
  {
    title: "Subpath Atomic writer volumes should support subpaths with downward pod",
    subPath: "downward/podname",
    volume: { downwardAPI: { items: [{ path: "downward/podname", fieldRef: { fieldPath: "metadata.name" } }] } },
    wants: "pod",
  },
  {
    title: "Subpath Atomic writer volumes should support subpaths with projected pod",
    subPath: "projected/configmap-key",
    volume: {
      projected: {
        sources: [
          { configMap: { name: "my-configmap", items: [{ key: "configmap-key", path: "projected/configmap-key" }] } },
        ],
      },
    },
    wants: "configmap-value",
  },
]

describeStandIns("parts of volumes", (standIn) => {
  for (const { title, subPath, volume, wants, mountPath = "/test-volume" } of rows)
    standIn(title, async (ns) => {
      await ns.create("secrets", "my-secret", { stringData: { "secret-key": "secret-value" } })
      await ns.create("configmaps", "my-configmap", { data: { "configmap-key": "configmap-value" } })
      const volumeMounts = [{ name: "v", mountPath, subPath }]
      const { pod, log } = await ns.endOf("pod", {
        volumes: [{ name: "v", ...volume }],
        initContainers: [{ name: "before", image: BUSYBOX, command: sh(`cat ${mountPath}`), volumeMounts }],
        containers: [{ command: sh(`cat ${mountPath}; test -f ${mountPath}`), volumeMounts }],
      })
      expect([pod.status.phase, log, await ns.log("pod", "container=before")]).toEqual(["Succeeded", wants, wants])
      await ns.cluster.delete(`${ns.path}/pods/pod`)
      await ns.untilPod("pod", (left) => left === undefined)
    })
})
