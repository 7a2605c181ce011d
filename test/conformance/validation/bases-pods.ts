import type { Base, Json } from "./base.ts"

/** Pods, each with other fields of a pod's spec. */

const TIME = "2026-01-01T00:00:00Z"
const REF = { name: "s" }
const container = { name: "c", image: "i" }

const pod = (name: string, spec: Json, more: Json = {}): Base => ({
  kind: "v1 Pod",
  name,
  body: { spec: { containers: [container], ...spec }, ...more },
})

/** Pods with one type of volume each. */
const VOLUMES: Readonly<Record<string, Json>> = {
  emptyDir: { medium: "Memory", sizeLimit: "1Gi" },
  hostPath: { path: "/p", type: "File" },
  secret: { secretName: "s", items: [{ key: "k", path: "p", mode: 256 }], defaultMode: 420, optional: true },
  configMap: { name: "c", items: [{ key: "k", path: "p/q", mode: 256 }], defaultMode: 420, optional: true },
  downwardAPI: {
    items: [
      { path: "a", fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels" }, mode: 256 },
      { path: "b", resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" } },
    ],
    defaultMode: 420,
  },
  projected: {
    defaultMode: 420,
    sources: [
      { secret: { name: "s", items: [{ key: "k", path: "a" }], optional: true } },
      { configMap: { name: "c", items: [{ key: "k", path: "b" }] } },
      { downwardAPI: { items: [{ path: "c", fieldRef: { fieldPath: "metadata.name" } }] } },
      { serviceAccountToken: { audience: "a", expirationSeconds: 700, path: "d" } },
    ],
  },
  persistentVolumeClaim: { claimName: "p", readOnly: true },
  ephemeral: {
    volumeClaimTemplate: {
      metadata: { labels: { a: "b" }, annotations: { c: "d" } },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, storageClassName: "slow" },
    },
  },
  image: { reference: "r", pullPolicy: "Never" },
  csi: {
    driver: "d.example.com",
    readOnly: true,
    fsType: "ext4",
    volumeAttributes: { a: "b" },
    nodePublishSecretRef: REF,
  },
  nfs: { server: "s", path: "/p", readOnly: true },
  iscsi: {
    targetPortal: "10.0.0.1",
    iqn: "iqn.2001-04.com.example:storage",
    lun: 0,
    chapAuthDiscovery: true,
    secretRef: REF,
  },
  gitRepo: { repository: "r", revision: "1", directory: "d" },
  awsElasticBlockStore: { volumeID: "v", partition: 1 },
  gcePersistentDisk: { pdName: "p", partition: 1 },
  azureDisk: { diskName: "d", diskURI: "https://u" },
  azureFile: { secretName: "s", shareName: "h" },
  cephfs: { monitors: ["m"], path: "/p" },
  cinder: { volumeID: "v" },
  fc: { wwids: ["w"] },
  flexVolume: { driver: "a/d" },
  flocker: { datasetUUID: "u" },
  glusterfs: { endpoints: "e", path: "p" },
  photonPersistentDisk: { pdID: "p" },
  portworxVolume: { volumeID: "v" },
  quobyte: { registry: "r:1", volume: "v" },
  rbd: { monitors: ["m"], image: "i" },
  scaleIO: { gateway: "g", system: "s", secretRef: REF, volumeName: "v" },
  storageos: { volumeName: "v" },
  vsphereVolume: { volumePath: "[d] v" },
}

const term = {
  labelSelector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] },
  namespaces: ["n"],
  topologyKey: "kubernetes.io/hostname",
  namespaceSelector: { matchLabels: { e: "f" } },
  matchLabelKeys: ["g"],
  mismatchLabelKeys: ["h"],
}
const podTerms = {
  requiredDuringSchedulingIgnoredDuringExecution: [term],
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, podAffinityTerm: term }],
}
const nodeTerm = {
  matchExpressions: [
    { key: "a", operator: "In", values: ["b"] },
    { key: "c", operator: "Gt", values: ["1"] },
  ],
  matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }],
}

const handler = {
  httpGet: { path: "/h", port: 80, host: "h", scheme: "HTTPS", httpHeaders: [{ name: "A", value: "b" }] },
}
const timing = {
  initialDelaySeconds: 1,
  timeoutSeconds: 2,
  periodSeconds: 3,
  successThreshold: 1,
  failureThreshold: 4,
}

const CONTAINER: Json = {
  name: "c",
  image: "registry.example/i:1",
  command: ["a"],
  args: ["b", "c"],
  workingDir: "/w",
  ports: [
    { name: "http", containerPort: 80, protocol: "TCP", hostIP: "10.0.0.1" },
    { containerPort: 53, protocol: "UDP" },
  ],
  envFrom: [{ prefix: "P_", configMapRef: { name: "c", optional: true } }, { secretRef: { name: "s" } }],
  env: [
    { name: "A", value: "b" },
    { name: "B", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } },
    { name: "C", valueFrom: { resourceFieldRef: { resource: "requests.memory", divisor: "1Mi" } } },
    { name: "D", valueFrom: { configMapKeyRef: { name: "c", key: "k", optional: true } } },
    { name: "E", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
  ],
  resources: {
    limits: { cpu: "2", memory: "2Gi", "example.com/d": "1" },
    requests: { cpu: "1", memory: "1Gi", "example.com/d": "1", "ephemeral-storage": "1Gi" },
  },
  resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
  volumeMounts: [{ name: "v", mountPath: "/m", subPath: "s", readOnly: true, mountPropagation: "HostToContainer" }],
  livenessProbe: { ...handler, ...timing, terminationGracePeriodSeconds: 5 },
  readinessProbe: { tcpSocket: { port: "http", host: "h" }, ...timing },
  startupProbe: { exec: { command: ["a"] }, ...timing },
  lifecycle: { postStart: { exec: { command: ["a"] } }, preStop: { sleep: { seconds: 3 } } },
  terminationMessagePath: "/t",
  terminationMessagePolicy: "FallbackToLogsOnError",
  imagePullPolicy: "Always",
  securityContext: {
    capabilities: { add: ["A"], drop: ["ALL"] },
    privileged: false,
    seLinuxOptions: { user: "u", role: "r", type: "t", level: "l" },
    runAsUser: 1,
    runAsGroup: 2,
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    procMount: "Default",
    seccompProfile: { type: "Localhost", localhostProfile: "p" },
    appArmorProfile: { type: "RuntimeDefault" },
  },
  stdin: true,
  stdinOnce: true,
  tty: true,
}

export const POD_BASES: readonly Base[] = [
  pod("minimal", {}),
  pod("container", { containers: [CONTAINER], volumes: [{ name: "v", emptyDir: {} }] }),
  pod("init containers", {
    initContainers: [
      { name: "i", image: "i", resources: { limits: { cpu: "1" } } },
      { name: "s", image: "i", restartPolicy: "Always", livenessProbe: { grpc: { port: 5, service: "s" } } },
    ],
    containers: [container, { name: "d", image: "j", volumeDevices: [{ name: "v", devicePath: "/d" }] }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "p" } }],
  }),
  pod("spec", {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 5,
    activeDeadlineSeconds: 10,
    dnsPolicy: "None",
    nodeSelector: { a: "b" },
    serviceAccountName: "default",
    automountServiceAccountToken: false,
    shareProcessNamespace: true,
    imagePullSecrets: [{ name: "s" }],
    hostname: "h",
    subdomain: "s",
    schedulerName: "x",
    tolerations: [
      { key: "a", operator: "Equal", value: "b", effect: "NoExecute", tolerationSeconds: 5 },
      { operator: "Exists" },
    ],
    hostAliases: [{ ip: "10.0.0.1", hostnames: ["a.b"] }],
    dnsConfig: { nameservers: ["10.0.0.10"], searches: ["a.b"], options: [{ name: "ndots", value: "2" }] },
    readinessGates: [{ conditionType: "example.com/g" }],
    enableServiceLinks: false,
    preemptionPolicy: "PreemptLowerPriority",
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { a: "b" } },
        minDomains: 2,
        nodeAffinityPolicy: "Honor",
        nodeTaintsPolicy: "Ignore",
        matchLabelKeys: ["c"],
      },
    ],
    setHostnameAsFQDN: true,
    os: { name: "linux" },
    hostUsers: true,
    schedulingGates: [{ name: "example.com/g" }],
    resourceClaims: [
      { name: "r", resourceClaimName: "c" },
      { name: "t", resourceClaimTemplateName: "t" },
    ],
    resources: { limits: { cpu: "4", memory: "4Gi" }, requests: { cpu: "3" } },
  }),
  pod("security", {
    securityContext: {
      seLinuxOptions: { level: "l" },
      runAsUser: 1,
      runAsGroup: 2,
      runAsNonRoot: true,
      supplementalGroups: [3],
      supplementalGroupsPolicy: "Strict",
      fsGroup: 4,
      fsGroupChangePolicy: "OnRootMismatch",
      sysctls: [{ name: "kernel.shm_rmid_forced", value: "0" }],
      seccompProfile: { type: "RuntimeDefault" },
      appArmorProfile: { type: "Localhost", localhostProfile: "p" },
      seLinuxChangePolicy: "Recursive",
    },
  }),
  pod("windows", {
    os: { name: "windows" },
    securityContext: { windowsOptions: { gmsaCredentialSpecName: "g", gmsaCredentialSpec: "s", runAsUserName: "u" } },
    containers: [{ ...container, securityContext: { windowsOptions: { runAsUserName: "u" } } }],
  }),
  pod("host network", {
    hostNetwork: true,
    dnsPolicy: "ClusterFirstWithHostNet",
    containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 80 }] }],
  }),
  pod("affinity", {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodeTerm] },
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, preference: nodeTerm }],
      },
      podAffinity: podTerms,
      podAntiAffinity: podTerms,
    },
  }),
  pod(
    "metadata",
    {},
    {
      metadata: {
        labels: { a: "b", "example.com/c": "" },
        annotations: { d: "e" },
        finalizers: ["example.com/f"],
        ownerReferences: [
          { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u", controller: true, blockOwnerDeletion: true },
        ],
      },
    },
  ),
  ...Object.entries(VOLUMES).map(([name, source]) =>
    pod(`volume ${name}`, { volumes: [{ name: "v", [name]: source }] }),
  ),
  {
    ...pod("status", { nodeName: "n" }),
    status: {
      observedGeneration: 1,
      phase: "Running",
      conditions: [
        {
          type: "Ready",
          status: "True",
          lastProbeTime: TIME,
          lastTransitionTime: TIME,
          reason: "R",
          message: "m",
          observedGeneration: 1,
        },
      ],
      message: "m",
      reason: "R",
      hostIP: "10.0.0.1",
      hostIPs: [{ ip: "10.0.0.1" }],
      podIP: "10.1.0.1",
      podIPs: [{ ip: "10.1.0.1" }, { ip: "2001:db8::1" }],
      startTime: TIME,
      containerStatuses: [
        {
          name: "c",
          state: { running: { startedAt: TIME } },
          lastState: {
            terminated: {
              exitCode: 1,
              signal: 2,
              reason: "R",
              message: "m",
              startedAt: TIME,
              finishedAt: TIME,
              containerID: "x://1",
            },
          },
          ready: true,
          restartCount: 1,
          image: "i",
          imageID: "x",
          containerID: "x://2",
          started: true,
          allocatedResources: { cpu: "1" },
          resources: { requests: { cpu: "1" } },
          volumeMounts: [{ name: "v", mountPath: "/m", readOnly: true, recursiveReadOnly: "Disabled" }],
          user: { linux: { uid: 1, gid: 2, supplementalGroups: [3] } },
        },
      ],
      qosClass: "BestEffort",
      resize: "",
      resourceClaimStatuses: [],
    },
  },
]
