# One image per app: docker build --target ingester . / docker build --target api .
FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json turbo.json ./
COPY packages packages
COPY apps apps
COPY e2e/package.json e2e/
RUN npm ci && npx turbo run build --filter="./apps/*" && npm prune --omit=dev

FROM node:26-slim AS runtime
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build --chown=node:node /app ./
USER node

FROM runtime AS ingester
EXPOSE 9465
CMD ["node", "--enable-source-maps", "apps/ingester/dist/main.js"]

FROM runtime AS api
# Why these, and the flags below: scripts/api-process.mjs
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=32768
EXPOSE 3000 9464
CMD ["node", "--enable-source-maps", "--max-semi-space-size=4", "--no-parallel-scavenge", "--heap-growing-percent=30", "apps/api/dist/main.js"]
