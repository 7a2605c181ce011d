/**
 * ConfigMaps and Secrets as volumes, alone and projected. After configmap_volume.go, secrets_volume.go,
 * projected_configmap.go, projected_secret.go and projected_combined.go of test/e2e/common/storage.
 */
import { expect } from "bun:test"
import { stay } from "../../harness/cluster.ts"
import { type PodInput, type PodSpec, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

type Volume = Omit<NonNullable<PodSpec["volumes"]>[number], "name">
interface Given {
  readonly name: string
  readonly items?: readonly { readonly key: string; readonly path: string; readonly mode?: number }[]
  readonly defaultMode?: number
  readonly optional?: boolean
}
/** A type of volume with the contents of a ConfigMap or a Secret. */
interface Source {
  readonly plural: "configmaps" | "secrets"
  volume(given: Given): Volume
}
const configMap: Source = { plural: "configmaps", volume: (given) => ({ configMap: given }) }
const secret: Source = {
  plural: "secrets",
  volume: ({ name, ...given }) => ({ secret: { secretName: name, ...given } }),
}
const projected = (plural: Source["plural"]): Source => ({
  plural,
  volume: ({ defaultMode, ...given }) => ({
    projected: {
      sources: [plural === "configmaps" ? { configMap: given } : { secret: given }],
      ...(defaultMode === undefined ? {} : { defaultMode }),
    },
  }),
})
const projectedConfigMap = projected("configmaps")
const projectedSecret = projected("secrets")

/** The user of upstream's tests that do not run as root. */
const nonRoot: PodInput = { securityContext: { runAsUser: 1000 } }
const mapped = [{ key: "data-2", path: "path/to/data-2" }]
const mappedReadOnly = [{ key: "data-2", path: "path/to/data-2", mode: 0o400 }]
const data = { "data-1": "value-1", "data-2": "value-2", "data-3": "value-3" }
const PLAIN = "-rw-r--r--"
const OWNER = "-r--------"
const GROUP = "-r--r-----"
const withGroup = { given: { defaultMode: 0o440 }, pod: { securityContext: { runAsUser: 1000, fsGroup: 1001 } } }

interface Row {
  readonly title: string
  readonly source: Source
  readonly given?: Partial<Given>
  readonly pod?: PodInput
  readonly mode: string
}
const rows: readonly Row[] = [
  { title: "ConfigMap should be consumable from pods in volume", source: configMap, mode: PLAIN },
  {
    title: "ConfigMap should be consumable from pods in volume as non-root",
    source: configMap,
    pod: nonRoot,
    mode: PLAIN,
  },
  {
    title: "ConfigMap should be consumable from pods in volume with defaultMode set",
    source: configMap,
    given: { defaultMode: 0o400 },
    mode: OWNER,
  },
  {
    title: "ConfigMap should be consumable from pods in volume with mappings",
    source: configMap,
    given: { items: mapped },
    mode: PLAIN,
  },
  {
    title: "ConfigMap should be consumable from pods in volume with mappings and Item mode set",
    source: configMap,
    given: { items: mappedReadOnly },
    mode: OWNER,
  },
  {
    title: "ConfigMap should be consumable from pods in volume with mappings as non-root",
    source: configMap,
    given: { items: mapped },
    pod: nonRoot,
    mode: PLAIN,
  },
  { title: "Projected configMap should be consumable from pods in volume", source: projectedConfigMap, mode: PLAIN },
  {
    title: "Projected configMap should be consumable from pods in volume as non-root",
    source: projectedConfigMap,
    pod: nonRoot,
    mode: PLAIN,
  },
  {
    title: "Projected configMap should be consumable from pods in volume with defaultMode set",
    source: projectedConfigMap,
    given: { defaultMode: 0o400 },
    mode: OWNER,
  },
  {
    title: "Projected configMap should be consumable from pods in volume with mappings",
    source: projectedConfigMap,
    given: { items: mapped },
    mode: PLAIN,
  },
  {
    title: "Projected configMap should be consumable from pods in volume with mappings and Item mode set",
    source: projectedConfigMap,
    given: { items: mappedReadOnly },
    mode: OWNER,
  },
  {
    title: "Projected configMap should be consumable from pods in volume with mappings as non-root",
    source: projectedConfigMap,
    given: { items: mapped },
    pod: nonRoot,
    mode: PLAIN,
  },
  { title: "Secrets should be consumable from pods in volume", source: secret, mode: PLAIN },
  {
    title: "Secrets should be consumable from pods in volume with defaultMode set",
    source: secret,
    given: { defaultMode: 0o400 },
    mode: OWNER,
  },
  {
    title: "Secrets should be consumable from pods in volume as non-root with defaultMode and fsGroup set",
    source: secret,
    ...withGroup,
    mode: GROUP,
  },
  {
    title: "Secrets should be consumable from pods in volume with mappings",
    source: secret,
    given: { items: mapped },
    mode: PLAIN,
  },
  {
    title: "Secrets should be consumable from pods in volume with mappings and Item Mode set",
    source: secret,
    given: { items: mappedReadOnly },
    mode: OWNER,
  },
  { title: "Projected secret should be consumable from pods in volume", source: projectedSecret, mode: PLAIN },
  {
    title: "Projected secret should be consumable from pods in volume with defaultMode set",
    source: projectedSecret,
    given: { defaultMode: 0o400 },
    mode: OWNER,
  },
  {
    title: "Projected secret should be consumable from pods in volume as non-root with defaultMode and fsGroup set",
    source: projectedSecret,
    ...withGroup,
    mode: GROUP,
  },
  {
    title: "Projected secret should be consumable from pods in volume with mappings",
    source: projectedSecret,
    given: { items: mapped },
    mode: PLAIN,
  },
  {
    title: "Projected secret should be consumable from pods in volume with mappings and Item Mode set",
    source: projectedSecret,
    given: { items: mappedReadOnly },
    mode: OWNER,
  },
]

const make = (ns: TestNamespace, { plural }: Source, name: string, content: Record<string, string>) =>
  ns.create(plural, name, plural === "configmaps" ? { data: content } : { stringData: content })

describeStandIns("volumes of ConfigMaps and Secrets", (standIn) => {
  for (const { title, source, given = {}, pod = {}, mode } of rows)
    standIn(title, async (ns) => {
      await make(ns, source, "test", data)
      const file = given.items === undefined ? "data-1" : "path/to/data-2"
      const log = await ns.output(
        "pod",
        `id -u; cat /etc/volume/${file}; echo; stat -L -c %A /etc/volume/${file}`,
        { volumeMounts: [{ name: "v", mountPath: "/etc/volume", readOnly: true }] },
        { ...pod, volumes: [{ name: "v", ...source.volume({ name: "test", ...given }) }] },
      )
      const user = pod.securityContext === undefined ? "0" : "1000"
      expect(log).toBe(`${user}\n${given.items === undefined ? "value-1" : "value-2"}\n${mode}\n`)
    })

  for (const [title, source] of [
    ["ConfigMap should be consumable in multiple volumes in the same pod", configMap],
    ["Projected configMap should be consumable in multiple volumes in the same pod", projectedConfigMap],
    ["Secrets should be consumable in multiple volumes in a pod", secret],
    ["Projected secret should be consumable in multiple volumes in a pod", projectedSecret],
  ] as const)
    standIn(title, async (ns) => {
      await make(ns, source, "test", data)
      const log = await ns.output(
        "pod",
        "cat /etc/volume/data-1; echo; stat -L -c %A /etc/volume/data-1; cat /etc/volume-2/data-1",
        {
          volumeMounts: [
            { name: "v", mountPath: "/etc/volume", readOnly: true },
            { name: "v2", mountPath: "/etc/volume-2", readOnly: true },
          ],
        },
        { volumes: ["v", "v2"].map((name) => ({ name, ...source.volume({ name: "test" }) })) },
      )
      expect(log).toBe(`value-1\n${PLAIN}\nvalue-1`)
    })

  for (const [title, source] of [
    ["ConfigMap updates should be reflected in volume", configMap],
    ["Projected configMap updates should be reflected in volume", projectedConfigMap],
  ] as const)
    standIn(title, async (ns) => {
      await make(ns, source, "test", { "data-1": "value-1" })
      await ns.runPod("pod", {
        volumes: [{ name: "v", ...source.volume({ name: "test" }) }],
        containers: [{ volumeMounts: [{ name: "v", mountPath: "/etc/volume", readOnly: true }] }],
      })
      expect(await ns.sh("pod", "cat /etc/volume/data-1")).toBe("value-1")
      await ns.cluster.put(`${ns.path}/configmaps/test`, { metadata: { name: "test" }, data: { "data-1": "value-2" } })
      await ns.untilSh("pod", "cat /etc/volume/data-1", (out) => out === "value-2")
    })

  for (const [title, source] of [
    ["ConfigMap optional updates should be reflected in volume", configMap],
    ["Projected configMap optional updates should be reflected in volume", projectedConfigMap],
    ["Secrets optional updates should be reflected in volume", secret],
    ["Projected secret optional updates should be reflected in volume", projectedSecret],
  ] as const)
    standIn(title, async (ns) => {
      // given three optional volumes: their objects will be deleted, changed and created
      const names = ["delete", "update", "create"]
      await make(ns, source, "delete", { "data-1": "value-1" })
      await make(ns, source, "update", { "data-1": "value-1" })
      await ns.runPod("pod", {
        volumes: names.map((name) => ({ name, ...source.volume({ name, optional: true }) })),
        containers: names.map((name) => ({
          name,
          command: stay(),
          volumeMounts: [{ name, mountPath: `/etc/volumes/${name}`, readOnly: true }],
        })),
      })
      const file = (name: string, key: string) => `/etc/volumes/${name}/${key}`
      const absent = async (name: string, key: string) =>
        expect((await ns.exec("pod", `cat ${file(name, key)}`, name)).err).toContain("No such file or directory")
      await absent("create", "data-1")
      await absent("update", "data-3")
      expect(await ns.sh("pod", `cat ${file("delete", "data-1")}`, "delete")).toBe("value-1")

      // when that happens, then the files of the volumes follow
      await ns.cluster.delete(`${ns.path}/${source.plural}/delete`)
      await ns.cluster.put(`${ns.path}/${source.plural}/update`, {
        metadata: { name: "update" },
        ...(source.plural === "configmaps"
          ? { data: { "data-3": "value-3" } }
          : { stringData: { "data-3": "value-3" } }),
      })
      await make(ns, source, "create", { "data-1": "value-1" })
      await ns.untilSh("pod", `cat ${file("create", "data-1")}`, (out) => out === "value-1", "create")
      await ns.untilSh("pod", `cat ${file("update", "data-3")}`, (out) => out === "value-3", "update")
      await ns.untilSh("pod", `ls ${file("delete", "")}`, (out) => out === "", "delete")
      await absent("delete", "data-1")
      await absent("update", "data-1")
    })

  standIn("ConfigMap binary data should be reflected in volume", async (ns) => {
    const bytes = Buffer.from([0xde, 0xca, 0xfe, 0xba, 0xd0, 0xfe, 0xff])
    await ns.create("configmaps", "test", {
      data: { "data-1": "value-1" },
      binaryData: { "dump.bin": bytes.toString("base64") },
    })
    const log = await ns.output(
      "pod",
      "cat /etc/volume/data-1; echo; hexdump -C /etc/volume/dump.bin",
      { volumeMounts: [{ name: "v", mountPath: "/etc/volume", readOnly: true }] },
      { volumes: [{ name: "v", configMap: { name: "test" } }] },
    )
    expect(log).toStartWith("value-1\n")
    expect(log).toContain("de ca fe ba d0 fe ff")
  })

  standIn(
    "Secrets should be able to mount in a volume regardless of a different secret existing with same name in different namespace",
    async (ns) => {
      const other = `${ns.name}-other`
      await ns.cluster.post("/api/v1/namespaces", { metadata: { name: other } })
      await ns.cluster.post(`/api/v1/namespaces/${other}/secrets`, {
        metadata: { name: "test" },
        stringData: { other: "another value" },
      })
      await make(ns, secret, "test", data)
      const log = await ns.output(
        "pod",
        "ls /etc/volume; cat /etc/volume/data-1; echo; stat -L -c %A /etc/volume/data-1",
        { volumeMounts: [{ name: "v", mountPath: "/etc/volume", readOnly: true }] },
        { volumes: [{ name: "v", secret: { secretName: "test" } }] },
      )
      expect(log).toBe(`data-1\ndata-2\ndata-3\nvalue-1\n${PLAIN}\n`)
      await ns.cluster.delete(`/api/v1/namespaces/${other}`)
    },
  )

  standIn("Projected combined should project all components that make up the projection API", async (ns) => {
    await make(ns, configMap, "test", { "configmap-data": "configmap-value-1" })
    await make(ns, secret, "test", { "secret-data": "secret-value-1" })
    const log = await ns.output(
      "projected",
      "cat /all/podname && echo && cat /all/secret-data && echo && cat /all/configmap-data && echo && cat /all/cpu " +
        "/all/memory",
      {
        resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: { cpu: "1250m", memory: "64Mi" } },
        volumeMounts: [{ name: "all", mountPath: "/all" }],
      },
      {
        volumes: [
          {
            name: "all",
            projected: {
              sources: [
                {
                  downwardAPI: {
                    items: [
                      { path: "podname", fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } },
                      {
                        path: "cpu",
                        resourceFieldRef: { containerName: "c", resource: "requests.cpu", divisor: "1m" },
                      },
                      { path: "memory", resourceFieldRef: { containerName: "c", resource: "limits.memory" } },
                    ],
                  },
                },
                { secret: { name: "test" } },
                { configMap: { name: "test" } },
              ],
            },
          },
        ],
      },
    )
    expect(log).toBe(`projected\nsecret-value-1\nconfigmap-value-1\n10${64 * 2 ** 20}`)
  })
})
