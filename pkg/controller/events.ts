import type { KubeObject } from "../apimachinery/resource.ts"

/**
 * Writes core/v1 Events about objects, which `kubectl describe` shows; equal ones in a row are counted, floods are
 * limited.
 */
export interface EventRecorder {
  /**
   * `fieldPath` names a part of the object, e.g. `spec.containers{web}`. Never throws; an event that cannot be written
   * is lost, as upstream's.
   */
  event(about: KubeObject, type: "Normal" | "Warning", reason: string, message: string, fieldPath?: string): void
  /** Resolves when what was recorded so far is written; nothing is recorded afterwards. */
  stop(): Promise<void>
}
