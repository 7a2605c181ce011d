import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { watch } from "node:fs/promises"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { IMAGE, kubeletOnContainerd, MISSING, sh, type KubeletOnContainerd } from "./kubelet-on-containerd.ts"

describe.skipIf(MISSING.length > 0)("the kubelet on containerd", () => {
  let node: KubeletOnContainerd
  beforeAll(async () => {
    node = await kubeletOnContainerd()
  }, 60_000)
  afterAll(async () => expect(await node.stop()).toEqual({ mounts: [], failures: [] }), 60_000)

  test("gives containers volumes of every type, and keeps their content up to date", async () => {
    // given a ConfigMap, a Secret and a folder of the node
    const namespace = "default"
    await node.cluster.client.create(ConfigMap, { metadata: { namespace, name: "cm" }, data: { key: "old" } })
    await node.cluster.client.create(Secret, {
      metadata: { namespace, name: "sec" },
      data: { password: Buffer.from("pw").toString("base64") },
    })
    const shared = join(node.folder, "shared")
    mkdirSync(shared)
    const isReady = (async () => {
      for await (const { filename } of watch(shared)) if (filename === "ready") return
    })()
    // when a container reads them and waits for a change of the ConfigMap
    const script = `
      {
        busybox df -k /mem | busybox tail -n 1 | busybox awk '{ print "memory", $1, $2 }'
        echo "secret $(cat /sec/password) $SECRET"
        echo x 2>/dev/null > /sec/new || echo "secret is read-only"
        echo "name $(cat /down/name)"
        busybox stat -c 'group %g %a' /disk
        echo mine > /sub/file; echo "sub $(cat /disk/part/file)"
        echo "before $(cat /cm/key) $(cat /one)"
        touch /host/ready
        until [ "$(cat /cm/key)" = new ]; do sleep 0.02; done
        echo "after $(cat /cm/key) $(cat /one)"
      } > /host/report`
    const {
      metadata: { uid },
    } = await node.create("volumes", {
      restartPolicy: "Never",
      securityContext: { fsGroup: 4321 },
      volumes: [
        { name: "cm", configMap: { name: "cm" } },
        { name: "sec", secret: { secretName: "sec" } },
        { name: "mem", emptyDir: { medium: "Memory", sizeLimit: "2Mi" } },
        { name: "disk", emptyDir: {} },
        { name: "host", hostPath: { path: shared, type: "Directory" } },
        { name: "down", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
      containers: [
        {
          name: "c",
          image: IMAGE,
          command: sh(script),
          env: [
            { name: "SECRET", valueFrom: { secretKeyRef: { name: "sec", key: "password" } } },
            { name: "PART", value: "part" },
          ],
          volumeMounts: [
            { name: "cm", mountPath: "/cm" },
            { name: "cm", mountPath: "/one", subPath: "key" },
            { name: "sec", mountPath: "/sec" },
            { name: "mem", mountPath: "/mem" },
            { name: "disk", mountPath: "/disk" },
            { name: "disk", mountPath: "/sub", subPathExpr: "$(PART)" },
            { name: "host", mountPath: "/host" },
            { name: "down", mountPath: "/down" },
          ],
        },
      ],
    })
    await isReady
    await node.cluster.client.patch(
      ConfigMap,
      { namespace, name: "cm" },
      { type: "merge", body: { data: { key: "new" } } },
    )
    await node.pod("volumes", ({ status }) => status.phase === "Succeeded")
    // then it has read all of them; the mounted folder follows the change, the file mounted by subPath does not
    expect(readFileSync(join(shared, "report"), "utf8").trimEnd().split("\n")).toEqual([
      "memory tmpfs 2048",
      "secret pw pw",
      "secret is read-only",
      "name volumes",
      "group 4321 2777",
      "sub mine",
      "before old old",
      "after new old",
    ])
    // and when the pod is gone, nothing of them is left except the node's own files
    await node.cluster.client.delete(Pod, { name: "volumes", namespace })
    await node.gone("volumes")
    await node.cluster.eventually(() => {
      expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(uid!)
      expect(existsSync(join(node.folder, "data/agent/kubelet/memory", uid!))).toBe(false)
    })
    expect(existsSync(join(shared, "report"))).toBe(true)
  }, 30_000)

  test("starts a pod that waits for a ConfigMap as soon as the ConfigMap exists", async () => {
    // given a pod whose ConfigMap is missing
    await node.create("waits", {
      restartPolicy: "Never",
      volumes: [{ name: "v", configMap: { name: "late" } }],
      containers: [
        {
          name: "c",
          image: IMAGE,
          command: sh("cat /v/key > /dev/termination-log"),
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
    })
    const [told] = await node.cluster.eventually(
      Event,
      { fields: "involvedObject.name=waits,reason=FailedMount" },
      (events) => events.length > 0,
    )
    expect(told!.message).toBe('MountVolume.SetUp failed for volume "v" : configmap "late" not found')
    // when the ConfigMap is created
    await node.cluster.client.create(ConfigMap, {
      metadata: { namespace: "default", name: "late" },
      data: { key: "here" },
    })
    // then
    const done = await node.pod("waits", ({ status }) => status.phase === "Succeeded")
    expect(done.status.containerStatuses![0]!.state.terminated?.message).toBe("here")
    await node.cluster.client.delete(Pod, { name: "waits", namespace: "default" })
    await node.gone("waits")
  }, 5_000)
})
