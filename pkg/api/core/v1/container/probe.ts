import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"

export const ExecAction = message("core.v1.ExecAction", "A command run in the container; exit code 0 is success.", {
  command: f.list(1, e.string, "The command and its arguments; no shell is involved.").atomic(),
})
export interface ExecAction extends ObjectOf<typeof ExecAction> {}

export const HTTPHeader = message("core.v1.HTTPHeader", "A header of a probe's request.", {
  name: f.string(1, "Name of the header.").required().ownRule(),
  value: f.string(2, "Value of the header.").default("").printZero(),
})
export interface HTTPHeader extends ObjectOf<typeof HTTPHeader> {}

export const HTTPGetAction = message("core.v1.HTTPGetAction", "An HTTP GET; codes from 200 to 399 are success.", {
  path: f.string(1, "Path of the request.").default("/"),
  port: f.intOrString(2, "Number or name of the port.").required().ownRule(),
  host: f.string(3, "Host to connect to; the pod's IP unless given."),
  scheme: f.string(4, "HTTP or HTTPS.").enum("HTTP", "HTTPS").default("HTTP").ownRule(),
  httpHeaders: f.list(5, HTTPHeader, "Headers of the request; a name may come twice.").atomic(),
})
export interface HTTPGetAction extends ObjectOf<typeof HTTPGetAction> {}

export const TCPSocketAction = message("core.v1.TCPSocketAction", "Opening a TCP connection.", {
  port: f.intOrString(1, "Number or name of the port.").required().ownRule(),
  host: f.string(2, "Host to connect to; the pod's IP unless given."),
})
export interface TCPSocketAction extends ObjectOf<typeof TCPSocketAction> {}

export const GRPCAction = message("core.v1.GRPCAction", "A call of the gRPC health service.", {
  port: f.int32(1, "Number of the port.").required(),
  service: f.string(2, "Name put into the request.").default("").pointer(),
})
export interface GRPCAction extends ObjectOf<typeof GRPCAction> {}

export const SleepAction = message("core.v1.SleepAction", "Waiting.", {
  seconds: f.int64(1, "How many seconds to wait.").default(0).printZero(),
})
export interface SleepAction extends ObjectOf<typeof SleepAction> {}

export const LifecycleHandler = message(
  "core.v1.LifecycleHandler",
  "An action at a point in a container's life; exactly one is set.",
  {
    exec: f.message(1, ExecAction, "A command."),
    httpGet: f.message(2, HTTPGetAction, "An HTTP request."),
    tcpSocket: f.message(3, TCPSocketAction, "Deprecated; accepted and then fails."),
    sleep: f.message(4, SleepAction, "A pause."),
  },
)
export interface LifecycleHandler extends ObjectOf<typeof LifecycleHandler> {}

/** The stop signals of containers on Linux. */
export const LINUX_SIGNALS: readonly string[] = [
  "SIGABRT",
  "SIGALRM",
  "SIGBUS",
  "SIGCHLD",
  "SIGCLD",
  "SIGCONT",
  "SIGFPE",
  "SIGHUP",
  "SIGILL",
  "SIGINT",
  "SIGIO",
  "SIGIOT",
  "SIGKILL",
  "SIGPIPE",
  "SIGPOLL",
  "SIGPROF",
  "SIGPWR",
  "SIGQUIT",
  "SIGSEGV",
  "SIGSTKFLT",
  "SIGSTOP",
  "SIGSYS",
  "SIGTERM",
  "SIGTRAP",
  "SIGTSTP",
  "SIGTTIN",
  "SIGTTOU",
  "SIGURG",
  "SIGUSR1",
  "SIGUSR2",
  "SIGVTALRM",
  "SIGWINCH",
  "SIGXCPU",
  "SIGXFSZ",
  "SIGRTMIN",
  "SIGRTMIN+1",
  "SIGRTMIN+2",
  "SIGRTMIN+3",
  "SIGRTMIN+4",
  "SIGRTMIN+5",
  "SIGRTMIN+6",
  "SIGRTMIN+7",
  "SIGRTMIN+8",
  "SIGRTMIN+9",
  "SIGRTMIN+10",
  "SIGRTMIN+11",
  "SIGRTMIN+12",
  "SIGRTMIN+13",
  "SIGRTMIN+14",
  "SIGRTMIN+15",
  "SIGRTMAX-14",
  "SIGRTMAX-13",
  "SIGRTMAX-12",
  "SIGRTMAX-11",
  "SIGRTMAX-10",
  "SIGRTMAX-9",
  "SIGRTMAX-8",
  "SIGRTMAX-7",
  "SIGRTMAX-6",
  "SIGRTMAX-5",
  "SIGRTMAX-4",
  "SIGRTMAX-3",
  "SIGRTMAX-2",
  "SIGRTMAX-1",
  "SIGRTMAX",
]

export const Lifecycle = message("core.v1.Lifecycle", "Actions after a container's start and before its end.", {
  postStart: f.message(1, LifecycleHandler, "Done right after the start; a failure ends the container."),
  preStop: f.message(2, LifecycleHandler, "Done before the container is told to end."),
  stopSignal: f
    .string(3, "Signal that asks the container to end; the image's unless given.")
    .enum(...LINUX_SIGNALS)
    .pointer()
    .ownRule(),
})
export interface Lifecycle extends ObjectOf<typeof Lifecycle> {}

export const Probe = message("core.v1.Probe", "A check that is made again and again while a container runs.", {
  exec: f.message(1, ExecAction, "A command.").embeddedIn(1),
  httpGet: f.message(2, HTTPGetAction, "An HTTP request.").embeddedIn(1),
  tcpSocket: f.message(3, TCPSocketAction, "A TCP connection.").embeddedIn(1),
  grpc: f.message(4, GRPCAction, "A gRPC health check.").embeddedIn(1),
  initialDelaySeconds: f.int32(2, "Seconds from the start to the first check.").min(0),
  timeoutSeconds: f.int32(3, "Seconds after which a check has failed.").min(0).default(1),
  periodSeconds: f.int32(4, "Seconds between checks.").min(0).default(10),
  successThreshold: f.int32(5, "How many successes in a row after a failure count as success.").min(0).default(1),
  failureThreshold: f.int32(6, "How many failures in a row count as failure.").min(0).default(3),
  terminationGracePeriodSeconds: f
    .int64(7, "Grace for the container that the failed probe ends; the pod's unless given.")
    .pointer(),
})
export interface Probe extends ObjectOf<typeof Probe> {}
