import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import type { KubeletContext } from "../context.ts"
import type { KubeletConfig } from "../model/config.ts"
import type { Environment } from "./environment.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import { MemoryFiles } from "../runtime/simulated/machine/memory-files.ts"
import { ownObjects } from "../objects/own-objects.ts"
import { createEnvironment } from "./environment.ts"

const namespace = "default"
type Container = NonNullable<InputOfResource<typeof Pod>["spec"]>["containers"][number]

describe("the environment of a container", () => {
  let cluster: Cluster
  let environment: Environment
  const envFile = "FROM_FILE='yes' # a comment\n"

  beforeEach(async () => {
    cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    const files = new MemoryFiles()
    files.put("/v/env", envFile)
    files.put("/v/wrong", "FROM_FILE=yes\n")
    const runtime = {
      machine: { cpus: 4, memoryBytes: 8 * 2 ** 30, hugepages: {}, space: async () => ({ capacityBytes: 100 }) },
      volumes: {
        openInside: (volume: string, path: string) => files.open(`${volume}/${path}`),
      },
    }
    // Only these parts are asked by the environment.
    const context = {
      ...cluster.contextFor("system:node:node-0", ["system:nodes"], { fieldSelectors: ownObjects("node-0") }),
      config: { nodeName: "node-0", root: "/" } as KubeletConfig,
      runtime: runtime as unknown as ContainerRuntime,
    } as KubeletContext
    environment = createEnvironment(context)
    await cluster.client.create(ServiceAccount, { metadata: { namespace, name: "default" } })
    await cluster.client.create(Node, { metadata: { name: "node-0" } })
    await cluster.client.create(ConfigMap, {
      metadata: { namespace, name: "cm" },
      data: { a: "1", B: "2" },
      binaryData: { raw: "AAE=" },
    })
    await cluster.client.create(Secret, {
      metadata: { namespace, name: "sec" },
      data: { password: Buffer.from("pw").toString("base64") },
    })
    await cluster.client.create(Service, {
      metadata: { namespace, name: "web" },
      spec: { clusterIP: "10.43.0.77", ports: [{ port: 80 }] },
    })
  })
  afterEach(() => cluster.stop())

  let names = 0
  const of = async (container: Partial<Container>, spec: object = {}) =>
    (await variablesOf(container, spec)).map(({ key, value }) => `${key}=${value}`)
  const variablesOf = async (container: Partial<Container>, spec: object = {}) => {
    const pod = await cluster.client.create(Pod, {
      metadata: { namespace, name: `p${names++}`, labels: { app: "x" } },
      spec: {
        nodeName: "node-0",
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        volumes: [{ name: "v", emptyDir: {} }],
        ...spec,
        containers: [{ name: "main", image: "x", ...container }],
      },
    })
    const found = await environment.of({
      pod,
      container: pod.spec.containers[0]!,
      podIps: ["10.42.0.7"],
      hostIps: ["192.0.2.1"],
      mounted: new Map([["v", { name: "v", hostPath: "/v", readOnly: false }]]),
    })
    return found.filter(({ key }) => !key.startsWith("KUBERNETES_"))
  }

  test("comes from values, ConfigMaps, Secrets, fields, resources and files", async () => {
    expect(
      await of({
        resources: { limits: { memory: "64Mi" } },
        env: [
          { name: "PLAIN", value: "x" },
          { name: "EMPTY" },
          { name: "CM", valueFrom: { configMapKeyRef: { name: "cm", key: "a" } } },
          { name: "SECRET", valueFrom: { secretKeyRef: { name: "sec", key: "password" } } },
          { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } } },
          { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
          { name: "FILE", valueFrom: { fileKeyRef: { volumeName: "v", path: "env", key: "FROM_FILE" } } },
          {
            name: "NO_FILE",
            valueFrom: { fileKeyRef: { volumeName: "v", path: "none", key: "FROM_FILE", optional: true } },
          },
        ],
      }),
    ).toEqual(["PLAIN=x", "EMPTY=", "CM=1", "SECRET=pw", "IP=10.42.0.7", "LABEL=x", "MEMORY=64", "CPUS=4", "FILE=yes"])
  })

  test(
    "takes all text keys of an object, with a prefix if one is given; env goes before envFrom, and the later " +
      "before the earlier",
    async () => {
      expect(
        await of({
          envFrom: [
            { configMapRef: { name: "cm" } },
            { prefix: "S_", secretRef: { name: "sec" } },
            { prefix: "X_", configMapRef: { name: "none", optional: true } },
          ],
          env: [
            { name: "B", value: "own" },
            { name: "TWICE", value: "1" },
            { name: "TWICE", value: "2" },
          ],
        }),
      ).toEqual(["B=own", "a=1", "S_password=pw", "TWICE=2"])
    },
  )

  test("expands references to variables before it, of envFrom and of services", async () => {
    expect(
      await of(
        {
          envFrom: [{ configMapRef: { name: "cm" } }],
          env: [
            { name: "FIRST", value: "$(LATER)" },
            { name: "LATER", value: "$(a)-$(WEB_SERVICE_HOST)" },
            { name: "AFTER", value: "$(LATER)!" },
            { name: "LITERAL", value: "$$(a)" },
            { name: "UNTOUCHED", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          ],
        },
        { enableServiceLinks: true },
      ).then((all) => all.filter((text) => !text.startsWith("WEB_"))),
    ).toEqual([
      "B=2",
      "a=1",
      "FIRST=$(LATER)",
      "LATER=1-10.43.0.77",
      "AFTER=1-10.43.0.77!",
      "LITERAL=$(a)",
      "UNTOUCHED=x",
    ])
  })

  test("leaves out what is optional and missing", async () => {
    expect(
      await of({
        env: [
          { name: "NO_OBJECT", valueFrom: { configMapKeyRef: { name: "none", key: "a", optional: true } } },
          { name: "NO_KEY", valueFrom: { secretKeyRef: { name: "sec", key: "none", optional: true } } },
          { name: "THERE", value: "1" },
        ],
      }),
    ).toEqual(["THERE=1"])
  })

  test.each([
    [
      { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "none", key: "a" } } }] },
      'configmap "none" not found',
    ],
    [{ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "none", key: "a" } } }] }, 'secret "none" not found'],
    [
      { env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "cm", key: "z" } } }] },
      "couldn't find key z in ConfigMap default/cm",
    ],
    [
      { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "sec", key: "z" } } }] },
      "couldn't find key z in Secret default/sec",
    ],
    [
      { env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "none", key: "z" } } }] },
      "couldn't parse env file",
    ],
    [
      { env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "wrong", key: "z", optional: true } } }] },
      "couldn't parse env file",
    ],
    [
      { env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "env", key: "z" } } }] },
      'environment variable key "z" not found in file "env" of volume "v"',
    ],
    [{ envFrom: [{ configMapRef: { name: "none" } }] }, 'configmap "none" not found'],
  ])("of %j fails: %s", async (container, expected) => {
    // when, then
    const failure = await of(container).then(
      () => undefined,
      (err: unknown) => err,
    )
    expect(failure).toMatchObject({ name: "StartError", reason: "CreateContainerConfigError", message: expected })
  })

  test("is refused before it is longer than Linux passes to a program, whatever the references multiply", async () => {
    // given a variable that is twice the one before, 30 times: 8 GB in the end
    const doubled = Array.from({ length: 30 }, (_, i) => ({ name: `A${i + 1}`, value: `$(A${i})$(A${i})` }))

    // when, then
    await expect(of({ env: [{ name: "A0", value: "12345678" }, ...doubled] })).rejects.toMatchObject({
      reason: "CreateContainerConfigError",
      message: expect.stringContaining('environment variable "A14" has more than 131071 bytes'),
    })
    // and so are many variables of which each is allowed
    const many = Array.from({ length: 80 }, (_, i) => ({ name: `B${i}`, value: "$(A13)$(A12)" }))
    await expect(
      of({ env: [{ name: "A0", value: "12345678" }, ...doubled.slice(0, 13), ...many] }),
    ).rejects.toMatchObject({
      reason: "CreateContainerConfigError",
      message: expect.stringContaining("more than 6291456 bytes"),
    })
  })

  test("has the very bytes of a Secret, wherever a variable uses them", async () => {
    // given values that are not UTF-8
    const raw = Uint8Array.of(0x61, 0xff, 0xfe, 0x80, 0x7a)
    await cluster.client.create(Secret, {
      metadata: { namespace, name: "raw" },
      data: { RAW: Buffer.from(raw).toString("base64") },
    })

    // when
    const found = await variablesOf({
      envFrom: [{ secretRef: { name: "raw" } }, { prefix: "P_", secretRef: { name: "raw" } }],
      env: [
        { name: "REF", valueFrom: { secretKeyRef: { name: "raw", key: "RAW" } } },
        { name: "IN", value: "<$(REF)>" },
      ],
    })

    // then
    const bytes = Object.fromEntries(found.map(({ key, value }) => [key, Buffer.from(value as Uint8Array)]))
    const expected = Buffer.from(raw)
    const around = Buffer.concat([Buffer.from("<"), raw, Buffer.from(">")])
    expect(bytes).toEqual({ RAW: expected, P_RAW: expected, REF: expected, IN: around })
  })
})
