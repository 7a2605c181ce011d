import type { UserInfo } from "../call/request.ts"

/**
 * Whether a user is exempt from all limits, so that administrators can always correct a fault. Source: apiserver
 * pkg/server/filters/maxinflight.go.
 */
export const isExempt = ({ groups }: UserInfo): boolean => groups.includes("system:masters")
