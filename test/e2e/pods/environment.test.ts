/** The environment of a container's processes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"

const image = BUSYBOX

describeOnNode("pods", () => {
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  describe("environment", () => {
    test("comes from values, fields, resources, ConfigMaps and Secrets, and variables may refer to earlier ones", async () => {
      await Promise.all([
        cluster.create(ConfigMap, { metadata: { name: "env", namespace: "default" }, data: { COLOUR: "red" } }),
        cluster.create(Secret, { metadata: { name: "env", namespace: "default" }, stringData: { password: "s3cret" } }),
        cluster.create(Service, {
          metadata: { name: "earlier", namespace: "default" },
          spec: { ports: [{ port: 81 }] },
        }),
      ])
      const out = await cluster.output(
        "env",
        {
          command: sh("env | sort; echo args: $0 $@"),
          args: ["$(PLAIN)", "$$(PLAIN)", "$(NOWHERE)"],
          resources: { requests: { cpu: "10m", memory: "8Mi" }, limits: { memory: "32Mi" } },
          envFrom: [
            { prefix: "CM_", configMapRef: { name: "env" } },
            { configMapRef: { name: "none", optional: true } },
          ],
          env: [
            { name: "PLAIN", value: "plain" },
            { name: "BOTH", value: "$(PLAIN) and $(CM_COLOUR)" },
            { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "env", key: "password" } } },
            { name: "ABSENT", valueFrom: { secretKeyRef: { name: "env", key: "nope", optional: true } } },
            { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
            { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
            { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
            { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } } },
          ],
        },
        {},
      )
      const pod = await cluster.pod("env", () => true)
      const env = new Map(
        out
          .trim()
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      )
      expect(
        Object.fromEntries(
          [
            "PLAIN",
            "BOTH",
            "PASSWORD",
            "POD",
            "NODE",
            "MEMORY",
            "CM_COLOUR",
            "EARLIER_SERVICE_PORT",
            "KUBERNETES_SERVICE_HOST",
            "HOSTNAME",
          ].map((name) => [name, env.get(name)]),
        ),
      ).toEqual({
        PLAIN: "plain",
        BOTH: "plain and red",
        PASSWORD: "s3cret",
        POD: "env",
        NODE: pod.spec.nodeName,
        MEMORY: "32",
        CM_COLOUR: "red",
        EARLIER_SERVICE_PORT: "81",
        KUBERNETES_SERVICE_HOST: "10.43.0.1",
        HOSTNAME: "env",
      })
      expect(env.get("IP")).toMatch(/^10\.42\./)
      expect(env.has("ABSENT")).toBe(false)
      expect(out).toContain("args: plain $(PLAIN) $(NOWHERE)")
    })

    test("that cannot be built is reported, and the container starts once it can", async () => {
      await cluster.createPod("no-env", {
        containers: [
          {
            name: "c",
            image,
            command: stay(),
            env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "late", key: "a" } } }],
          },
        ],
      })
      const waiting = await cluster.pod(
        "no-env",
        ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "CreateContainerConfigError",
      )
      expect(waiting.status.containerStatuses![0]!.state.waiting!.message).toBe('configmap "late" not found')
      await cluster.create(ConfigMap, { metadata: { name: "late", namespace: "default" }, data: { a: "1" } })
      await cluster.pod("no-env")
    })
  })
})
