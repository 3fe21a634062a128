# The gateway alone; Qdrant is its own service in docker-compose.yml.
FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements.lock ./
RUN python -m venv /opt/toolscout \
    && /opt/toolscout/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY indexer ./indexer
COPY gateway ./gateway
RUN /opt/toolscout/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 toolscout \
    && install -d -o toolscout -g toolscout /data
COPY --from=build /opt/toolscout /opt/toolscout
ENV PATH=/opt/toolscout/bin:$PATH \
    TOOLSCOUT_HOME=/data \
    TOOLSCOUT_HOST=0.0.0.0 \
    TOOLSCOUT_PORT=8080
USER toolscout
VOLUME /data
EXPOSE 8080
# /readyz answers once the catalog is open; urllib, because the image has no curl.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"TOOLSCOUT_PORT\"]}/readyz', timeout=2)"]
ENTRYPOINT ["toolscout"]
CMD ["serve"]
