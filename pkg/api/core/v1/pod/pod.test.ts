import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../../apimachinery/decoding/decode.ts"
import { validateObject, validateObjectUpdate } from "../../../../apimachinery/validation/validate.ts"
import { Pod } from "./pod.ts"
import { type Json, made, withContainer } from "./pod.fixtures.ts"

const causesOf = (pod: Pod): string[] => validateObject(Pod, pod).map(({ field, message }) => `${field}: ${message}`)
const volumes = [{ name: "data", emptyDir: {} }]

describe("defaults", () => {
  test("a minimal pod gets upstream's defaults", () => {
    expect(made({}).spec).toEqual({
      containers: [
        {
          name: "web",
          image: "nginx",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
          imagePullPolicy: "Always",
        },
      ],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      securityContext: {},
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
    })
  })

  test.each([
    ["nginx", "Always"],
    ["nginx:latest", "Always"],
    ["nginx:1.27", "IfNotPresent"],
    ["host:5000/nginx", "Always"],
    ["nginx@sha256:aa", "IfNotPresent"],
  ] as const)("the image %s is pulled %s", (image, policy) => {
    expect(made(withContainer({ image })).spec.containers[0]!.imagePullPolicy).toBe(policy)
  })

  test("requests default to limits, host ports to container ports, and probes and volumes get their defaults", () => {
    // given a pod that says little
    const { spec } = made({
      hostNetwork: true,
      serviceAccount: "builder",
      volumes: [{ name: "data" }],
      ...withContainer({
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: "1000m", memory: "1Gi" }, requests: { cpu: "0.5" } },
        livenessProbe: { httpGet: { port: 80 } },
      }),
    })
    // then the rest is derived
    expect(spec.containers[0]).toMatchObject({
      ports: [{ containerPort: 80, hostPort: 80, protocol: "TCP" }],
      resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } },
      livenessProbe: {
        httpGet: { path: "/", port: 80, scheme: "HTTP" },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    })
    expect(spec.volumes).toEqual([{ name: "data", emptyDir: {} }])
    expect([spec.serviceAccountName, spec.serviceAccount]).toEqual(["builder", "builder"])
  })

  const asking = (resources: Json, ...containers: readonly Json[]): Json => ({
    resources,
    containers: containers.map((own, i) => ({ name: `c${i}`, image: "x:1", resources: own })),
  })
  test.each<readonly [string, Json, Json]>([
    ["the pod has none", asking({}, { requests: { cpu: "1" } }), {}],
    [
      "the pod has only requests",
      asking({ requests: { cpu: "1" } }, { requests: { memory: "1Gi" } }),
      { requests: { cpu: "1" } },
    ],
    [
      "no container has requests: requests are the limits",
      asking({ limits: { cpu: "2", memory: "1Gi" } }, {}, {}),
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "2", memory: "1Gi" } },
    ],
    [
      "containers have requests: requests are their sum",
      asking({ limits: { cpu: "2", memory: "1Gi" } }, { requests: { cpu: "300m" } }, { limits: { cpu: "500m" } }),
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "800m", memory: "1Gi" } },
    ],
    [
      "containers have huge pages: these are its limit",
      asking({ limits: { cpu: "2" } }, { limits: { "hugepages-2Mi": "4Mi" } }, { limits: { "hugepages-2Mi": "2Mi" } }),
      { limits: { cpu: "2", "hugepages-2Mi": "6Mi" }, requests: { cpu: "2", "hugepages-2Mi": "6Mi" } },
    ],
  ])("pod-level resources get defaults if %s", (_case, spec, resources) => {
    expect(made(spec).spec.resources).toEqual(resources)
  })

  test("decoding a decoded pod changes nothing", () => {
    const pod = made({ volumes, serviceAccountName: "a" })
    expect(decodeObject(Pod, pod).object).toBe(pod)
  })
})

const MIRROR = "metadata.annotations[kubernetes.io/config.mirror]"

test.each<[annotations: Record<string, string>, wanted: string[], ofChange?: string[]]>([
  [{ "controller.kubernetes.io/pod-deletion-cost": "-5" }, []],
  [
    { "controller.kubernetes.io/pod-deletion-cost": "+5" },
    ['metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+5": must be a 32bit integer'],
  ],
  [
    { "controller.kubernetes.io/pod-deletion-cost": "2147483648" },
    [
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "2147483648": must be ' +
        "a 32bit integer",
    ],
  ],
  [
    { "kubernetes.io/config.mirror": "x" },
    [`${MIRROR}: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`],
    [`${MIRROR}: Forbidden: may not add mirror pod annotation`],
  ],
])("annotations with a meaning are validated, also in an update: %p", (annotations, wanted, ofChange = []) => {
  const pod = made({})
  const annotated = { ...pod, metadata: { ...pod.metadata, annotations } }
  expect(causesOf(annotated)).toEqual(wanted)
  const lines = validateObjectUpdate(
    Pod,
    { ...annotated, metadata: { ...annotated.metadata, resourceVersion: "1" } },
    pod,
  ).map(({ field, message }) => `${field}: ${message}`)
  expect(lines).toEqual([...ofChange, ...wanted])
})
