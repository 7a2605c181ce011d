import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isHTTPHeaderName, isPortName, isPortNumber } from "../../../../apimachinery/validation/names.ts"
import { declaredFaults } from "../../../../apimachinery/validation/validate.ts"
import {
  LINUX_SIGNALS,
  Probe,
  type ExecAction,
  type GRPCAction,
  type HTTPGetAction,
  type Lifecycle,
  type SleepAction,
  type TCPSocketAction,
} from "./probe.ts"
import { checked } from "../path-validation.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates probes and lifecycle handlers. Source: validateProbe, validateLifecycle, validateHandler in
 * pkg/apis/core/validation/validation.go.
 */

interface Handler {
  readonly exec?: ExecAction | undefined
  readonly httpGet?: HTTPGetAction | undefined
  readonly tcpSocket?: TCPSocketAction | undefined
  readonly grpc?: GRPCAction | undefined
  readonly sleep?: SleepAction | undefined
}

/** Validates a probe. `role` is the name of its field. */
export function validateProbe(
  probe: Probe,
  role: "livenessProbe" | "readinessProbe" | "startupProbe",
): readonly Cause[] {
  const causes: Cause[] = [
    ...validateHandler({ exec: probe.exec, httpGet: probe.httpGet, tcpSocket: probe.tcpSocket, grpc: probe.grpc }, 0),
    ...declaredFaults(Probe, probe),
  ]
  const { terminationGracePeriodSeconds: grace, successThreshold } = probe
  if (grace !== undefined && grace <= 0)
    causes.push(invalidValue("terminationGracePeriodSeconds", grace, "must be greater than 0"))
  if (role === "readinessProbe") {
    if (grace !== undefined)
      causes.push(invalidValue("terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"))
  } else if (successThreshold !== 1) causes.push(invalidValue("successThreshold", successThreshold, "must be 1"))
  return causes
}

/** Validates lifecycle handlers. `gracePeriod`: the pod's grace period in seconds, which a sleep must not exceed. */
export function validateLifecycle(
  { postStart, preStop, stopSignal }: Lifecycle,
  gracePeriod: number,
  osName: string | undefined,
): readonly Cause[] {
  const causes: Cause[] = []
  if (postStart !== undefined) within(causes, validateHandler(postStart, gracePeriod), "postStart")
  if (preStop !== undefined) within(causes, validateHandler(preStop, gracePeriod), "preStop")
  if (stopSignal !== undefined) pushAll(causes, stopSignalFaults(stopSignal, osName))
  return causes
}

/** Source: validateStopSignal. */
function stopSignalFaults(signal: string, osName: string | undefined): readonly Cause[] {
  if (osName === undefined)
    return [forbiddenField("stopSignal", "may not be set for containers with empty `spec.os.name`")]
  const allowed = osName === "windows" ? WINDOWS_SIGNALS : osName === "linux" ? LINUX_SIGNALS : undefined
  return allowed === undefined || allowed.includes(signal)
    ? NO_CAUSES
    : [notSupported("stopSignal", signal, [...allowed].sort())]
}
const WINDOWS_SIGNALS: readonly string[] = ["SIGKILL", "SIGTERM"]

function validateHandler(handler: Handler, gracePeriod: number): readonly Cause[] {
  const causes: Cause[] = []
  let found = 0
  for (const name of ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const) {
    if (handler[name] === undefined) continue
    if (found++ > 0) causes.push(forbiddenField(name, "may not specify more than 1 handler type"))
    else within(causes, validateAction(handler, name, gracePeriod), name)
  }
  return found === 0 ? [required("", "must specify a handler type")] : causes
}

function validateAction(handler: Handler, name: keyof Handler, gracePeriod: number): readonly Cause[] {
  switch (name) {
    case "exec":
      return (handler.exec!.command ?? []).length === 0 ? [required("command")] : NO_CAUSES
    case "httpGet": {
      const { port, scheme, httpHeaders = [] } = handler.httpGet!
      return [
        ...validatePort(port),
        ...(SCHEMES.includes(scheme) ? NO_CAUSES : [notSupported("scheme", scheme, SCHEMES)]),
        ...httpHeaders.flatMap((header) => checked("httpHeaders", header.name, isHTTPHeaderName)),
      ]
    }
    case "tcpSocket":
      return validatePort(handler.tcpSocket!.port)
    case "grpc":
      return validatePort(handler.grpc!.port)
    case "sleep": {
      const { seconds } = handler.sleep!
      return seconds >= 0 && seconds <= gracePeriod
        ? NO_CAUSES
        : [
            invalidValue(
              "",
              seconds,
              `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
            ),
          ]
    }
  }
}

const SCHEMES: readonly string[] = ["HTTP", "HTTPS"]

/** Validates a port given by number or by name. */
const validatePort = (port: number | string): readonly Cause[] =>
  invalidValues("port", port, typeof port === "number" ? isPortNumber(port) : isPortName(port))
