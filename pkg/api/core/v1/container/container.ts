import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { EnvFromSource, EnvVar } from "./env.ts"
import { Lifecycle, Probe } from "./probe.ts"
import { ContainerResizePolicy, ResourceRequirements } from "../resources/resources.ts"
import { SecurityContext } from "./securitycontext.ts"
import { containerDefaults } from "./container-defaults.ts"

export const ContainerPort = message("core.v1.ContainerPort", "A port on which a container listens.", {
  name: f.string(1, "Name by which Services refer to the port; unique in the pod."),
  hostPort: f.int32(2, "Port of the node that is forwarded here."),
  containerPort: f.int32(3, "Number of the port inside the pod.").required(),
  protocol: f.string(4, "Transport protocol.").enum("UDP", "TCP", "SCTP").default("TCP"),
  hostIP: f.string(5, "Address of the node on which the host port is bound."),
})
export interface ContainerPort extends ObjectOf<typeof ContainerPort> {}

export const VolumeMount = message("core.v1.VolumeMount", "A volume of the pod, and its path in the container.", {
  name: f.string(1, "Name of the volume.").required().ownRule(),
  readOnly: f.bool(2, "Whether the mount is read-only."),
  recursiveReadOnly: f
    .string(7, "Whether mounts inside are read-only too.")
    .enum("Disabled", "IfPossible", "Enabled")
    .pointer()
    .ownRule(),
  mountPath: f.string(3, "Path in the container; must not contain `:`.").required().ownRule(),
  subPath: f.string(4, "Path inside the volume; its root unless given."),
  mountPropagation: f
    .string(5, "Whether mounts made later are seen on the other side.")
    .enum("None", "HostToContainer", "Bidirectional")
    .pointer()
    .ownRule(),
  subPathExpr: f.string(6, "The same with $(NAME) for the container's variables; excludes subPath."),
})
export interface VolumeMount extends ObjectOf<typeof VolumeMount> {}

export const VolumeDevice = message("core.v1.VolumeDevice", "A raw block device in the container.", {
  name: f.string(1, "Name of a persistentVolumeClaim volume of the pod.").required(),
  devicePath: f.string(2, "Path of the device in the container.").required(),
})
export interface VolumeDevice extends ObjectOf<typeof VolumeDevice> {}

export const ContainerRestartRuleOnExitCodes = message(
  "core.v1.ContainerRestartRuleOnExitCodes",
  "Exit codes that a restart rule is about.",
  {
    operator: f.string(1, "How the exit code relates to the values.").required().enum("In", "NotIn").ownRule(),
    values: f.list(2, e.int32, "The exit codes.").listSet(),
  },
)
export interface ContainerRestartRuleOnExitCodes extends ObjectOf<typeof ContainerRestartRuleOnExitCodes> {}

export const ContainerRestartRule = message(
  "core.v1.ContainerRestartRule",
  "The action when a container ends in a certain way.",
  {
    action: f.string(1, "What to do.").required().enum("Restart", "RestartAllContainers").ownRule(),
    exitCodes: f.message(2, ContainerRestartRuleOnExitCodes, "The exit codes that are meant."),
  },
)
export interface ContainerRestartRule extends ObjectOf<typeof ContainerRestartRule> {}

export const Container = message(
  "core.v1.Container",
  "A container of a pod.",
  {
    name: f.string(1, "Name, unique in the pod. Cannot be changed.").required().ownRule(),
    image: f.string(2, "Image to run."),
    command: f.list(3, e.string, "Replaces the image's entrypoint; $(NAME) stands for variables.").atomic(),
    args: f.list(4, e.string, "Replaces the image's arguments; $(NAME) stands for variables.").atomic(),
    workingDir: f.string(5, "Working folder; the image's unless given."),
    ports: f
      .list(6, ContainerPort, "Ports the container listens on.")
      .listMap("containerPort", "protocol")
      .merge("containerPort"),
    envFrom: f
      .list(19, EnvFromSource, "Sets of variables; `env` stands before them, and the last of them wins.")
      .atomic(),
    env: f.list(7, EnvVar, "Variables.").listMap("name").merge("name"),
    resources: f.message(8, ResourceRequirements, "What the container needs and may use.").always(),
    resizePolicy: f
      .list(23, ContainerResizePolicy, "What a change of resources means for the running container.")
      .atomic(),
    restartPolicy: f
      .string(24, "Restart policy of this container alone; Always makes an init container a sidecar.")
      .enum("Always", "OnFailure", "Never")
      .pointer(),
    restartPolicyRules: f
      .list(25, ContainerRestartRule, "Rules by exit code that stand before restartPolicy.")
      .atomic(),
    volumeMounts: f.list(9, VolumeMount, "Volumes in the container.").listMap("mountPath").merge("mountPath"),
    volumeDevices: f
      .list(21, VolumeDevice, "Block devices in the container.")
      .listMap("devicePath")
      .merge("devicePath"),
    livenessProbe: f.message(10, Probe, "The container is restarted when this fails.").ownRule(),
    readinessProbe: f.message(11, Probe, "The pod gets no traffic while this fails.").ownRule(),
    startupProbe: f.message(22, Probe, "The other probes wait until this has succeeded.").ownRule(),
    lifecycle: f.message(12, Lifecycle, "What to do after the start and before the end.").ownRule(),
    terminationMessagePath: f
      .string(13, "File from which the last words of the container are read.")
      .default("/dev/termination-log"),
    terminationMessagePolicy: f
      .string(
        20,
        "File reads the file only; FallbackToLogsOnError takes the end of the log when it is empty and the " +
          "container failed.",
      )
      .enum("File", "FallbackToLogsOnError")
      .inOrder()
      .default("File"),
    imagePullPolicy: f
      .string(14, "When to pull the image; Always for the tag `latest`, otherwise IfNotPresent, unless given.")
      .enum("Always", "Never", "IfNotPresent"),
    securityContext: f.message(15, SecurityContext, "What the container may do."),
    stdin: f.bool(16, "Whether to keep standard input open for attach."),
    stdinOnce: f.bool(17, "Whether standard input closes when the first client has left."),
    tty: f.bool(18, "Whether to allocate a terminal; needs stdin."),
  },
  { defaults: containerDefaults },
)
export interface Container extends ObjectOf<typeof Container> {}

export const EphemeralContainer = message(
  "core.v1.EphemeralContainer",
  "A container put into a running pod, for debugging.",
  {
    name: f.string(1, "Name, unique among all containers of the pod.").required().embeddedIn(1).ownRule(),
    image: f.string(2, "Image to run.").embeddedIn(1),
    command: f.list(3, e.string, "Replaces the image's entrypoint.").atomic().embeddedIn(1),
    args: f.list(4, e.string, "Replaces the image's arguments.").atomic().embeddedIn(1),
    workingDir: f.string(5, "Working folder; the image's unless given.").embeddedIn(1),
    ports: f
      .list(6, ContainerPort, "Not allowed here.")
      .listMap("containerPort", "protocol")
      .merge("containerPort")
      .embeddedIn(1),
    envFrom: f.list(19, EnvFromSource, "Sets of variables.").atomic().embeddedIn(1),
    env: f.list(7, EnvVar, "Variables.").listMap("name").merge("name").embeddedIn(1),
    resources: f.message(8, ResourceRequirements, "Not allowed here.").always().embeddedIn(1),
    resizePolicy: f.list(23, ContainerResizePolicy, "Not allowed here.").atomic().embeddedIn(1),
    restartPolicy: f
      .string(24, "Not allowed here.")
      .enum("Always", "OnFailure", "Never")
      .embeddedIn(1)
      .pointer()
      .ownRule(),
    restartPolicyRules: f.list(25, ContainerRestartRule, "Not allowed here.").atomic().embeddedIn(1),
    volumeMounts: f
      .list(9, VolumeMount, "Volumes in the container; subPath is not allowed.")
      .listMap("mountPath")
      .merge("mountPath")
      .embeddedIn(1),
    volumeDevices: f
      .list(21, VolumeDevice, "Block devices in the container.")
      .listMap("devicePath")
      .merge("devicePath")
      .embeddedIn(1),
    livenessProbe: f.message(10, Probe, "Not allowed here.").embeddedIn(1).ownRule(),
    readinessProbe: f.message(11, Probe, "Not allowed here.").embeddedIn(1).ownRule(),
    startupProbe: f.message(22, Probe, "Not allowed here.").embeddedIn(1).ownRule(),
    lifecycle: f.message(12, Lifecycle, "Not allowed here.").embeddedIn(1).ownRule(),
    terminationMessagePath: f
      .string(13, "File from which the last words of the container are read.")
      .default("/dev/termination-log")
      .embeddedIn(1),
    terminationMessagePolicy: f
      .string(20, "Where the last words come from.")
      .enum("File", "FallbackToLogsOnError")
      .inOrder()
      .default("File")
      .embeddedIn(1),
    imagePullPolicy: f.string(14, "When to pull the image.").enum("Always", "Never", "IfNotPresent").embeddedIn(1),
    securityContext: f.message(15, SecurityContext, "What the container may do.").embeddedIn(1),
    stdin: f.bool(16, "Whether to keep standard input open for attach.").embeddedIn(1),
    stdinOnce: f.bool(17, "Whether standard input closes when the first client has left.").embeddedIn(1),
    tty: f.bool(18, "Whether to allocate a terminal; needs stdin.").embeddedIn(1),
    targetContainerName: f.string(2, "Container whose process namespace is shared."),
  },
  { defaults: containerDefaults },
)
export interface EphemeralContainer extends ObjectOf<typeof EphemeralContainer> {}
