# The images: docker build --target api|ingester|simulator|edge .
ARG NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim
ARG NGINX_IMAGE=docker.io/library/nginx:1.30.6

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
# Compose mounts files of deploy/ as well.
ARG MOUNTED=
RUN [ -z "$MOUNTED" ] || deploy/image/check-modes.sh
# The public address, such as https://premium.example: a shared link's picture and the examples name it.
ARG SITE_URL=
# A mirror or a private CA is told by a secret: it stays out of the layers. What npm has fetched is kept for the next
# build.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  npm ci && npx turbo run build

FROM build AS files-of-api
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  deploy/image/assemble.sh @kimchi/api /out
ARG REVISION=unknown
# For kimchi_build_info and kp_status.
RUN sed -i "s/\"version\": \"[^\"]*/&+$REVISION/" /out/apps/api/package.json

FROM build AS files-of-ingester
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  deploy/image/assemble.sh @kimchi/ingester /out
ARG REVISION=unknown
# For kimchi_build_info and kp_status.
RUN sed -i "s/\"version\": \"[^\"]*/&+$REVISION/" /out/apps/ingester/package.json

FROM build AS files-of-simulator
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=cache,target=/root/.npm \
  deploy/image/assemble.sh @kimchi/simulator /out

FROM ${NODE_IMAGE} AS runtime
ARG VERSION=1.1.0
ARG REVISION=unknown
ARG NODE_IMAGE
LABEL org.opencontainers.image.version=${VERSION} \
  org.opencontainers.image.revision=${REVISION} \
  org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.base.name=${NODE_IMAGE}
ENV NODE_ENV=production OPS_HOST=::
WORKDIR /app
# By number, which Kubernetes can check. Everything in the image belongs to root: the app can change nothing of itself.
USER 1000:1000

FROM runtime AS api
LABEL org.opencontainers.image.title="kimchi-premium api" \
  org.opencontainers.image.description="Answers the two public routes from documents held in memory"
COPY --from=files-of-api /out ./
EXPOSE 3000 9464
HEALTHCHECK --interval=10s --timeout=10s --start-period=10s CMD ["bash", "health.sh", "9464"]
CMD ["node", "--enable-source-maps", "apps/api/dist/main.js"]

FROM runtime AS ingester
LABEL org.opencontainers.image.title="kimchi-premium ingester" \
  org.opencontainers.image.description="Takes both exchanges' prices and writes one sample per coin and minute"
COPY --from=files-of-ingester /out ./
EXPOSE 9465
HEALTHCHECK --interval=10s --timeout=10s --start-period=10s CMD ["bash", "health.sh", "9465"]
CMD ["node", "--enable-source-maps", "apps/ingester/dist/main.js"]

FROM runtime AS simulator
LABEL org.opencontainers.image.title="kimchi-premium simulator" \
  org.opencontainers.image.description="Both exchanges, simulated, for the demo"
COPY --from=files-of-simulator /out ./
ENV HOST=0.0.0.0 PORT=8000
EXPOSE 8000
CMD ["node", "--enable-source-maps", "packages/simulator/dist/main.js"]

# nginx with the page. site/ is mounted over where a machine differs.
FROM ${NGINX_IMAGE} AS edge
ARG VERSION=1.1.0
ARG REVISION=unknown
ARG NGINX_IMAGE
LABEL org.opencontainers.image.title="kimchi-premium edge" \
  org.opencontainers.image.description="The page, and the API behind a cache of a minute" \
  org.opencontainers.image.version=${VERSION} \
  org.opencontainers.image.revision=${REVISION} \
  org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.base.name=${NGINX_IMAGE}
COPY --chmod=755 deploy/nginx /etc/nginx/kimchi
COPY --from=build --chmod=755 /src/apps/page/dist /srv/page
USER 101:101
EXPOSE 8080 8443
HEALTHCHECK --interval=5s --timeout=10s CMD ["sh", "/etc/nginx/kimchi/serves.sh"]
ENTRYPOINT ["/etc/nginx/kimchi/start.sh"]
CMD []
